import io

from rich.console import Console


def test_what_is_to_be_decided_comes_first_then_results_and_the_ledger_last(report):
    text = report.to_text()
    order = [
        text.index(words)
        for words in ("the pooled Gram matrix", "Warnings", "Result", "Not protected", "Cost", "Every disclosure")
    ]
    assert order == sorted(order)


def test_senders_of_the_same_share_a_line(report):
    line = next(line for line in report.to_text(140).splitlines() if "Masked" in line)
    assert "north, south, east, west" in line
    assert "3 times each" in line


def test_no_line_is_wider_than_asked(report):
    for width in (60, 100):
        assert max(map(len, report.to_text(width).splitlines())) <= width


def test_markup_and_control_characters_in_names_do_nothing(report_with):
    text = report_with(names=("[bold]a[/bold]", "b\x1b[2J", "[/]", "d")).to_text(160)
    assert "[bold]a[/bold]" in text
    assert "\x1b" not in text


def test_the_costs_are_there(report):
    text = report.to_text()
    assert "6 rounds, 5.2 MB" in text
    assert "CPU of coordinator" in text
    assert "210 ms" in text


def test_rich_prints_a_report(report):
    console = Console(file=io.StringIO(), width=100)
    console.print(report)
    assert "To decide" in console.file.getvalue()


def test_a_report_of_nothing_says_so(empty):
    text = empty.to_text()
    assert "No message left any site." in text
    assert "Differential privacy" in text

import pytest

pytest.importorskip("starlette", reason="needs the extra 'page'")
pytest.importorskip("httpx2", reason="Starlette's test client needs it")

from unit.page.page_sites import Hospital  # needs what is asked for above


@pytest.fixture
def hospital(tmp_path):
    return Hospital(tmp_path)


@pytest.fixture
def browser(hospital):
    """Dr Lee, logged in."""
    browser = hospital.browser()
    assert browser.log_in().status_code == 303
    return browser

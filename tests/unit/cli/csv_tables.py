"""Small tables as files."""

from sklearn.datasets import make_classification

X, Y = make_classification(60, 6, random_state=0)
NAMES = list("abcdef")


def write(path, columns):
    lines = [",".join(columns), *(",".join(str(v) for v in row) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")


def columns_of(records, names=NAMES, labels=Y):
    return {
        **dict(zip(names, records.T.tolist(), strict=True)),
        **({} if labels is None else {"label": labels.tolist()}),
    }

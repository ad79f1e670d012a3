"""A bank and two insurers have the same customers, each in a file of its own. Which customers will default?

Shows: one file per company, a model file, and new customers whose records stay split.
"""

import tempfile
from pathlib import Path

import pyarrow as pa
from pyarrow import csv
from sklearn.datasets import make_classification

from tacit import SVC, Federation, load

COMPANIES = {
    "bank": ["income", "savings", "loans", "default"],  # only the bank knows who defaulted
    "life_insurer": ["age", "health", "dependants"],
    "motor_insurer": ["claims", "mileage"],
}


def write(folder: Path, customers: pa.Table) -> list[Path]:
    """One CSV file per company, with the columns that it has."""
    folder.mkdir()
    for company, columns in COMPANIES.items():
        csv.write_csv(customers.select([c for c in columns if c in customers.column_names]), folder / f"{company}.csv")
    return [folder / f"{company}.csv" for company in COMPANIES]


X, y = make_classification(n_samples=400, n_features=8, n_informative=6, random_state=7)
features = [c for columns in COMPANIES.values() for c in columns if c != "default"]
customers = pa.table({**dict(zip(features, X.T, strict=True)), "default": pa.array(["yes" if d else "no" for d in y])})

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    files = write(folder / "known", customers[:300])
    companies = Federation.from_files(files, partition="vertical", label="default")
    print(companies)

    path = SVC(random_state=0).fit(companies).save(folder / "model.tacit")
    print(path.read_bytes().split(b"\n")[1].decode())  # the header says whose records the file contains

    new_files = write(folder / "new", customers[300:].drop_columns("default"))
    new = Federation.from_files(new_files, partition="vertical", label=None, labeller="bank")
    predicted = load(path).predict(new)

print("first predictions:", *predicted[:5])
print(f"accuracy on {new.n_rows} new customers: {(predicted == customers['default'][300:].to_numpy()).mean():.2f}")

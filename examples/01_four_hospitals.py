"""Four hospitals with different measurements of the same patients train one classifier; no record leaves a hospital.

Shows: a federation split by columns, training and predicting on it, and the report of who learnt what.
"""

from sklearn import svm
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from tacit import SVC, Federation

COLUMNS = {"north": slice(0, 8), "south": slice(8, 16), "east": slice(16, 23), "west": slice(23, 30)}

X, y = load_breast_cancer(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.25, stratify=y, random_state=3)

# every hospital scales its own columns by what it sees in them
scalers = {name: StandardScaler().fit(X[:, held]) for name, held in COLUMNS.items()}
parts = [scalers[name].transform(X[:, held]) for name, held in COLUMNS.items()]
new = [scalers[name].transform(X_new[:, held]) for name, held in COLUMNS.items()]

hospitals = Federation.from_parts(parts, names=list(COLUMNS), partition="vertical", y=y, labeller="north")
patients = Federation.from_parts(new, names=list(COLUMNS), partition="vertical", y=y_new, labeller="north")
model = SVC(random_state=0).fit(hospitals)

for name, own, own_new in zip(COLUMNS, parts, new, strict=True):
    print(f"{name + ' alone':<12} {svm.SVC().fit(own, y).score(own_new, y_new):.3f}")
print(f"{'together':<12} {model.score(patients):.3f}")
for role, what in dict.fromkeys((opened.role, opened.what) for opened in model.report_.opens):
    print(f"{role} knows {what}")
print("report:", model.report_.to_html("four_hospitals.html"))

"""Five hospitals hold records of different patients. They train one non-linear classifier, and each predicts alone.

Shows: a federation split by rows, SVC beside each hospital alone, what crossed a border, and the model for other
programs.
"""

import numpy as np
from sklearn import svm
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from tacit import SVC, Federation

X, y = load_digits(return_X_y=True)
X, X_new, y, y_new = train_test_split(X / 16, y, test_size=0.3, stratify=y, random_state=0)

# unequal shares of the classes: dirichlet splits are what hospitals look like
hospitals = Federation.simulate(X, y, parties=5, partition="horizontal", split="dirichlet", alpha=0.5, seed=1)
model = SVC(gamma=0.03, random_state=0).fit(hospitals)

for name, part in hospitals.parts.items():
    classes = len(np.unique(part.y))
    alone = svm.SVC(C=5, gamma=0.03).fit(part.X, part.y).score(X_new, y_new) if classes > 1 else float("nan")
    print(f"{name + ' alone':<16} {alone:.3f}")
print(f"{'together':<16} {model.score(X_new, y_new):.3f}")
print(f"{'pooled SVC':<16} {svm.SVC(C=5, gamma=0.03).fit(X, y).score(X_new, y_new):.3f}")

report = model.report_
print(f"{report.rounds} communication rounds, {report.bytes / 1e6:.1f} MB; landmarks are synthetic")
for what, figure in report.figures.items():
    print(f"{what}: {figure if isinstance(figure, str) else f'{figure:.2f}'}")
same = np.array_equal(model.to_sklearn().predict(X_new), model.predict(X_new))
print("the same predictions from a plain scikit-learn pipeline:", same)
print("report:", report.to_html("rows_of_many.html"))

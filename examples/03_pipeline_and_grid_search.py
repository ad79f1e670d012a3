"""GramSVC is a scikit-learn estimator: on plain arrays it simulates the parties, and fits wherever an SVC does.

Shows: a pipeline, a grid search, `clone`, and the same answers as scikit-learn's own SVC.
"""

from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from tacit import GramSVC

X, y = load_wine(return_X_y=True, as_frame=False)
X, X_new, y, y_new = train_test_split(X, y, stratify=y, random_state=0)

pipeline = make_pipeline(StandardScaler(), GramSVC(n_parties=4))
search = GridSearchCV(pipeline, {"gramsvc__C": [0.1, 1, 10], "gramsvc__kernel": ["linear", "rbf"]}, cv=3).fit(X, y)
print("best:", search.best_params_, f"accuracy {search.score(X_new, y_new):.3f}")
print(search.best_estimator_["gramsvc"].report_)

again = clone(search.best_estimator_).fit(X, y)
print("the clone agrees:", (again.predict(X_new) == search.predict(X_new)).all())

best = search.best_estimator_["gramsvc"]
central = make_pipeline(StandardScaler(), OneVsRestClassifier(SVC(C=best.C, kernel=best.kernel))).fit(X, y)
print("scikit-learn's SVC agrees:", (central.predict(X_new) == search.predict(X_new)).all())

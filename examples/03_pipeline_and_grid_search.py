"""SVC is a scikit-learn estimator: on plain arrays it simulates the parties, and fits where scikit-learn's SVC does.

Shows: scikit-learn's own pipeline and grid search, `clone`, and a search in shares, which reveals one number of each
candidate.
"""

from sklearn import svm
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tacit import SVC, FederatedGridSearch, simulate

X, y = load_wine(return_X_y=True, as_frame=False)
X, X_new, y, y_new = train_test_split(X, y, stratify=y, random_state=0)

pipeline = make_pipeline(StandardScaler(), SVC(n_parties=4, random_state=0))
search = GridSearchCV(pipeline, {"svc__alpha": [0.1, 1, 10], "svc__kernel": ["linear", "rbf"]}, cv=3).fit(X, y)
print("best:", search.best_params_, f"accuracy {search.score(X_new, y_new):.3f}")
print(search.best_estimator_["svc"].report_)

again = clone(search.best_estimator_).fit(X, y)
print("the clone agrees:", (again.predict(X_new) == search.predict(X_new)).all())

central = make_pipeline(StandardScaler(), svm.SVC()).fit(X, y)
print(f"scikit-learn's SVC says the same of {(central.predict(X_new) == search.predict(X_new)).mean():.0%}")

scaler = StandardScaler().fit(X)
sites = simulate(scaler.transform(X), y, parties=4, partition="horizontal", seed=0)
found = FederatedGridSearch(SVC(random_state=0), {"alpha": [0.1, 1, 10], "gamma": [0.03, 0.1]}).fit(sites)
print("in shares:", found.best_params_, f"accuracy {found.score(scaler.transform(X_new), y_new):.3f}")

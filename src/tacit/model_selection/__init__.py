"""Records set aside, models validated, parameters and columns found across parties."""

from tacit.model_selection.search import FederatedGridSearch, FederatedRandomizedSearch
from tacit.model_selection.selector import FederatedSelector
from tacit.model_selection.validation import Validation, cross_val_score, cross_validate, train_test_split

__all__ = [
    "FederatedGridSearch",
    "FederatedRandomizedSearch",
    "FederatedSelector",
    "Validation",
    "cross_val_score",
    "cross_validate",
    "train_test_split",
]

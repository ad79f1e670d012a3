"""Records set aside, models validated, parameters found across parties."""

from tacit.model_selection.search import FederatedGridSearch, FederatedRandomizedSearch
from tacit.model_selection.validation import Validation, cross_val_score, cross_validate, train_test_split

__all__ = [
    "FederatedGridSearch",
    "FederatedRandomizedSearch",
    "Validation",
    "cross_val_score",
    "cross_validate",
    "train_test_split",
]

"""Records set aside, models validated, parameters and features chosen across parties."""

from tacit.model_selection.search import FederatedGridSearch, FederatedHalvingSearch, FederatedRandomizedSearch
from tacit.model_selection.selectors import FilterWrapperSelector, VotedWrapperSelector
from tacit.model_selection.split import train_test_split
from tacit.model_selection.validation import Validation, cross_val_score, cross_validate

__all__ = [
    "FederatedGridSearch",
    "FederatedHalvingSearch",
    "FederatedRandomizedSearch",
    "FilterWrapperSelector",
    "Validation",
    "VotedWrapperSelector",
    "cross_val_score",
    "cross_validate",
    "train_test_split",
]

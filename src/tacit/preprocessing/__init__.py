"""Columns made ready for training, by statistics over all parties."""

from tacit.preprocessing.encoder import FederatedEncoder
from tacit.preprocessing.imputer import FederatedImputer
from tacit.preprocessing.scaler import FederatedScaler
from tacit.preprocessing.vectorizer import TableVectorizer

__all__ = ["FederatedEncoder", "FederatedImputer", "FederatedScaler", "TableVectorizer"]

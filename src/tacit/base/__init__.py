"""What estimators share: their parameters, how they become requests, their model files."""

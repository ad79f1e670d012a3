"""SVMs from a gram matrix that a coordinator has (paper 001)."""

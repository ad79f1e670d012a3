"""SVMs on records that are all moved alike (paper 002)."""

"""SVMs on which parties agree in rounds (paper 000)."""

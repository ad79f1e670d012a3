"""Folds, grids, histograms, and how good decision values are."""

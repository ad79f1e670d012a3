"""SVMs over rows, and searches and selections with them, by cutting planes over groups of rows (paper 004)."""

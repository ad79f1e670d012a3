"""How good a model is, and how sure, over records that stay where they are."""

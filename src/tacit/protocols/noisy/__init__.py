"""Models and figures with differential privacy: noise of every holder inside the masked sums."""

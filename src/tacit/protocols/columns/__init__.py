"""Statistics of columns over all parties."""

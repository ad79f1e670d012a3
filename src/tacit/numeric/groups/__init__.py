"""Groups of rows that no sum tells apart, and how large they must be."""

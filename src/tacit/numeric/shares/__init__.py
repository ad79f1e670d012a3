"""Numbers in shares: products in the ring, functions by squares, and clipping by tables."""

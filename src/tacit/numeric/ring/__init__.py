"""Numbers as words of a ring, drawn, packed and brought back."""

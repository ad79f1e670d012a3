"""Sums, of which one party learns the total and nobody a part; and what of rows may be summed."""

"""What columns hold, found in shares: what a table is prepared by, and what people are told of it."""

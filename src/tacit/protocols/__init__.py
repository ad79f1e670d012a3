"""One file, one protocol, read from top to bottom."""

"""Commands on one machine."""

"""Commands between organisations."""

"""Keys, pads, seals and shares of secrets."""

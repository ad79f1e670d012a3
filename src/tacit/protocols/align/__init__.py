"""Which records several parties have in common."""

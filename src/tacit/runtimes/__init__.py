"""Each implements `Run`, and nothing else: together (one process), apart (each party on its own)."""

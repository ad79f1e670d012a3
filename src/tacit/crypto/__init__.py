"""Ints and bytes, no parties: pads, key agreement, entropy."""

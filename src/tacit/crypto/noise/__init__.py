"""Noise as integers from AES."""

"""Protocols that make features: a joint coin, and the landmarks of the kernel map."""

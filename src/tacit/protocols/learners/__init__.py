"""Learners in shares: least squares, and the hinge; nothing but their result is ever opened."""

"""Extreme learning machines (paper 003)."""

"""Differential privacy: what a noisy sum costs, and how much noise a budget asks for."""

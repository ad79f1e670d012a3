"""Blind training: gram SVMs whose kernel matrix, coefficients and support vectors are nobody's knowledge."""

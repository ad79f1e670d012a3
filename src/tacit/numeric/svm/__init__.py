"""Kernels and solvers of support vector machines."""

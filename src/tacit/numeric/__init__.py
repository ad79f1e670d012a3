"""Plain maths, no parties, no I/O: ring and fixed point, triangles, kernels, rings of parties, the dual SVM."""

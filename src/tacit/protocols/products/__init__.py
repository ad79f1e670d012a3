"""Products of matrices that two parties hold, which end in shares."""

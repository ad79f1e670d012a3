"""How good a model is on records that it has not learnt from: counts and sums in shares, of which few are revealed."""

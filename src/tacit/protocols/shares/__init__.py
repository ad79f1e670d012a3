"""Values in shares: nobody holds them, and the holders compute on them with a dealer's correlated randomness."""

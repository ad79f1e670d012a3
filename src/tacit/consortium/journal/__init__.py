"""What a party writes down in a run, so that a crash costs nothing."""

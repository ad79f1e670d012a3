"""What every site signs of a run, and where the sites differ."""

"""What each method gives away, as working code."""

"""What a trained model is at each party; files."""

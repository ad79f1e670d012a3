"""tacit: SVMs and ELMs over data that several organisations hold and may not show each other."""

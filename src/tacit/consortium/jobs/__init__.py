"""Jobs: how they are proposed, checked, kept, and what states they pass."""

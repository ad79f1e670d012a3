"""Maps of records to features, and which features matter."""

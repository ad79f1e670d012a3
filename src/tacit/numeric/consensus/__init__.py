"""The steps of one party in a consensus."""

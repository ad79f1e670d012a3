"""The runtime between organisations, over NATS."""

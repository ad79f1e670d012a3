"""The runtime on a Spark cluster."""

"""A whole study as one run: the steps of a pipeline, played one after the other where the records are."""

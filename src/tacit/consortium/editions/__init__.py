"""What a site fixes of a dataset, so that no job can vary it: which records take part, their dealing, small groups."""

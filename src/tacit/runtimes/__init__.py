"""Runtimes: what moves messages between the parties of a run. Each implements `Run`, and nothing else."""

"""`python -m tacit.cli`, where the command itself is not on the path."""

from tacit.cli import main

main()

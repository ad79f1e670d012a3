"""`python -m tacit`, where the folder of scripts is not on the path."""

from tacit.cli import main

main()

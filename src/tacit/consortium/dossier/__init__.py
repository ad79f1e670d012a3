"""The dossier of a run: one signed file for auditors and data-protection officers, and its verification."""

"""The processes of a site, and what they are configured by."""

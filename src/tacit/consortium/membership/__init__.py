"""Who belongs to a consortium, and with which key."""

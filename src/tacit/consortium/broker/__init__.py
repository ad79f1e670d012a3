"""The message server, and the letters that it carries outside runs."""

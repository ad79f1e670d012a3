"""What organisations need besides the protocol: a journal that survives a crash, and an audit that shows who altered what."""

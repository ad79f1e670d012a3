"""What organisations need besides the protocol.

A journal that survives a crash, and an audit that shows who altered what.
"""

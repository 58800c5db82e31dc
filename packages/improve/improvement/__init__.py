"""An agent project that improves itself: evaluate, propose one change, keep what tests and suite confirm."""

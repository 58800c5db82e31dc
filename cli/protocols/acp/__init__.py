"""The Agent Client Protocol (ACP), version 1: an editor drives sessions over standard input and output."""

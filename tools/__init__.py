"""What can be done: the tools, and the one gateway that runs them."""

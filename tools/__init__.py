"""The tools of the agent, and the one gateway that runs them."""

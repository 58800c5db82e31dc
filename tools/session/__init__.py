"""The model's tools for its own session: plan, recall, memory and the end of the turn."""

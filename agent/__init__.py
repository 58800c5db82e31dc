"""Who decides: the loop, the session log, the context projection and the models."""

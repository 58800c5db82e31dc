"""Choice of the model that answers a request: roles, fallback, planner and executor."""

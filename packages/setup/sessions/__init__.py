"""Sessions of other agents, read from their own logs and written as sessions of ours. Their files are never changed."""

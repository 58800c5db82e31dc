"""Changes of the workspace's files: by the session, by commands, and by others meanwhile."""

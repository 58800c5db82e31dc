"""Files of the workspace: safe paths, text encoding, repositories and protected paths."""

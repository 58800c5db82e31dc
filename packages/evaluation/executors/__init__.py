"""Where trials run: a protocol, and worker processes on this machine."""

"""What happened in a session and why: a page of its steps, and where a failure began."""

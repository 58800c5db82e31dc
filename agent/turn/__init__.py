"""One turn of a session: the loop and the policies around it."""

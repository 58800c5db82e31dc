"""Notes of people on steps, and the behaviors that they are about."""

"""Work on the nodes of a Ray cluster: child sessions, and trials of an evaluation."""

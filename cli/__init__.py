"""Who is talking: the terminal, one-shot runs, and reports."""

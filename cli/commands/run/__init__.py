"""`run`, `resume`, `sessions` and the interactive session."""

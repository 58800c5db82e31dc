"""Tasks out of a repository: fixes from its history, faults put into its code, variants of tasks."""

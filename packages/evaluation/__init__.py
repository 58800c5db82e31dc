"""Evaluation: tasks with a checker, trials of an agent on them, and statistics of the results."""

"""`patchwright eval`: commands on suites of tasks and their results."""

"""From an edit to changed files: locate, merge, plan, write, report."""

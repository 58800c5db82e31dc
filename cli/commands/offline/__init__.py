"""Commands that need no model: edits, code index, repair, kernel, policy."""

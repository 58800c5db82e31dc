"""Git hooks: the work of each hook, and their installation."""

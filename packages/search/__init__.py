"""Ways to work on a task by several sessions, and opinions of models on a task and a change."""

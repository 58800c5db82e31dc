"""Skills (agentskills.io): folders with instructions for one kind of task, which a model reads when it needs them."""

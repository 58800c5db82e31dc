"""Begin with a project: what other agents have is taken over, and an AGENTS.md is drafted."""

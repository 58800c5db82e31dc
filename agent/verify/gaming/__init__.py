"""Guards against gaming at the end of a turn: what its prompts excuse, what its events show, and the notices."""

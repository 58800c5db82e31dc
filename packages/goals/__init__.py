"""Goals: work over several turns until a check that the person named passes."""

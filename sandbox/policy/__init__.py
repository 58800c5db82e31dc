"""Policy of a session: effects, modes, decisions, rules and trusted repositories."""

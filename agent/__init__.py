"""The agent: loop, session log, context projection and models."""

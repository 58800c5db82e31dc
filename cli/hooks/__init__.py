"""Patchwright as a git hook: what each hook does, and putting them in place."""

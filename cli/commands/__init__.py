"""Subcommands of `patchwright`, by theme."""

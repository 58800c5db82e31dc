"""Verdicts of tests on judgements of command lines."""

from __future__ import annotations

from sandbox.policy.shell.judgement import Judgement, is_harmless_effect


def is_harmless(judgement: Judgement) -> bool:
    """Return whether a command line is understood, and only reads or writes inside the workspace."""
    return not judgement.problems and all(is_harmless_effect(effect) for effect in judgement.effects)

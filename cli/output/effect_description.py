"""The literal call, command, paths or hosts of an action that a person is to allow."""

from __future__ import annotations

from sandbox.policy.effects import Effect
from sandbox.sanitize import quote_name, sanitize_for_approval


def describe_effect(effect: Effect) -> str:
    """Return the literal call or command, or else the paths or hosts, of an effect."""
    if effect.call:
        return sanitize_for_approval(effect.call)
    if effect.argv:
        import shlex

        return sanitize_for_approval(
            effect.argv[2] if effect.argv[:2] == ("bash", "-c") else shlex.join(effect.argv)
        )
    return sanitize_for_approval(", ".join(quote_name(each) for each in effect.paths or effect.hosts))

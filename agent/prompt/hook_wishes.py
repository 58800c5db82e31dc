"""Whether a prompt wants commits to go past the hooks of git."""

from __future__ import annotations

import re

from sandbox.lazy_pattern import compile_lazily

_SKIPS_HOOKS = compile_lazily(
    r"no-verify|(?:skip|bypass|without|ignore|disable|turn off)[^.\n]{0,40}\bhooks?\b", re.IGNORECASE
)


def asks_to_skip_hooks(text: str) -> bool:
    """Return whether a person wants commits to go past the hooks."""
    if not _SKIPS_HOOKS.search(text):
        return False
    from agent.prompt.prompt_text import remove_quoted_text, says  # its patterns: not at the start

    return says(remove_quoted_text(text), _SKIPS_HOOKS)

"""Whether a prompt wants commits to go past the hooks of git."""

from __future__ import annotations

import re

from tools.core.untrusted_output import remove_foreign_text

_SKIPS_HOOKS = re.compile(
    r"no-verify|(?:skip|bypass|without|ignore|disable|turn off)[^.\n]{0,40}\bhooks?\b", re.IGNORECASE
)


def asks_to_skip_hooks(text: str) -> bool:
    """Return whether a person wants commits to go past the hooks."""
    return bool(_SKIPS_HOOKS.search(remove_foreign_text(text)))

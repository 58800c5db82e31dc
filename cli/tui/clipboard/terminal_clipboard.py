"""Text to the clipboard of the terminal, by OSC 52: it works over ssh, without a program on the other side."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping

LARGEST = 74_994
"""Bytes of text: with their encoding 100,000 bytes, the most that xterm and others take in one sequence."""


def can_copy(env: Mapping[str, str] = os.environ) -> bool:
    """Return whether the terminal may take OSC 52; no terminal answers, so those known not to are listed."""
    return env.get("TERM_PROGRAM") != "Apple_Terminal" and "VTE_VERSION" not in env


def build_copy_sequence(text: str, env: Mapping[str, str] = os.environ) -> str:
    """Return the control sequence. In tmux it is sent twice: to tmux, and through it to the terminal around it, of
    which its settings (`set-clipboard`, `allow-passthrough`) let one or the other have an effect."""
    sequence = f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\x07"
    if not env.get("TMUX"):
        return sequence
    return sequence + "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"

"""Comparison of told results with seen ones: outputs and exceptions, as people copy them."""

from __future__ import annotations

import builtins
import difflib
import re

from packages.offline.reproduction.observation import ErrorSeen, StepSeen
from packages.offline.reproduction.report.report_fields import ToldError
from packages.offline.reproduction.report.told_errors import UNNAMED
from sandbox.lazy_pattern import compile_lazily

ALIKE = 0.72
"""Ratio of difflib from which on two messages count as one: versions reword them."""

DISTINCT = 24
"""Characters of a message that says enough without its type, which people write down from memory."""

SAME_NAME = 0.85
"""Ratio of difflib from which on a type is taken for a misspelt one."""

UNRELATED = frozenset(
    {
        "NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError", "SyntaxError", "FileNotFoundError",
        "PermissionError", "OSError", "KeyboardInterrupt", "SystemExit", "MemoryError", "AssertionError",
    }
)  # fmt: skip
"""Exceptions that say more of the snippet or of the machine than of the code."""

_ADDRESS = compile_lazily(r"0x[0-9a-fA-F]{4,}")
_SPACE = compile_lazily(r"\s+")


def match_output(told: str, step: StepSeen) -> tuple[str, str]:
    """Return (way, text) in which a statement shows the told output, ("", "") if it does not."""
    shown = dict(step.shows)
    if step.stdout.strip():
        shown["stdout"] = step.stdout
    wanted = normalize_output(told)
    if not wanted:
        return "", ""
    pattern = re.escape(wanted).replace(re.escape("..."), ".*?") if "..." in wanted else ""
    for way, text in shown.items():
        seen = normalize_output(text)
        if seen == wanted or strip_quotes(seen) == strip_quotes(wanted):
            return way, text
        if pattern and len(wanted) > 12 and re.fullmatch(pattern, seen, re.DOTALL):
            return way, text
    return "", ""


def match_error(told: ToldError, seen: ErrorSeen) -> bool:
    """Return whether an exception is the told one: its type, and its message if one is told."""
    wanted, found = normalize_message(told.message), normalize_message(seen.message)
    if told.type != seen.type:
        if hasattr(builtins, seen.type):
            return False
        is_same_text = len(wanted) >= DISTINCT and wanted in found
        return is_same_text or _is_misspelt(told.type, seen.type)
    if not told.message:
        return True
    if wanted == found or (len(wanted) > 12 and wanted in found) or (len(found) > 12 and found in wanted):
        return True
    return difflib.SequenceMatcher(None, wanted[:400], found[:400], autojunk=False).ratio() >= ALIKE


def is_unnamed_error(told: ToldError, seen: ErrorSeen) -> bool:
    """Return whether an exception may be one that is told without its type: not one of names or of the machine."""
    return told.type == UNNAMED and seen.is_inside and seen.type not in UNRELATED


def _is_misspelt(told: str, seen: str) -> bool:
    """Return whether a type that does not exist was meant for one of the project: ParsingException, ParseException."""
    if not told or hasattr(builtins, told):
        return False
    return difflib.SequenceMatcher(None, told.lower(), seen.lower(), autojunk=False).ratio() >= SAME_NAME


def normalize_output(text: str) -> str:
    """Return an output without differences of copying: spaces, addresses, Python 2's prefixes."""
    text = _ADDRESS.sub("0x", text.strip().strip("`"))
    text = re.sub(r"\bu(['\"])", r"\1", text)
    return _SPACE.sub("", text)


def normalize_message(text: str) -> str:
    """Return a message without addresses, numbers' digits, paths and quotes."""
    text = _ADDRESS.sub("0x", text.lower())
    text = re.sub(r"(?:/[\w.-]+)+", "/path", text)
    text = re.sub(r"[`'\"“”‘’]", "", text)
    return _SPACE.sub(" ", text).strip()


def strip_quotes(text: str) -> str:
    """Return a text without the quotes around it."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1].replace("\\\\", "\\")
    return text

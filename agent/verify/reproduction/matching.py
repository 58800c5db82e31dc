"""Comparison of told results with seen ones: outputs and exceptions, as people copy them."""

from __future__ import annotations

import difflib
import re

from agent.verify.reproduction.observation import ErrorSeen, StepSeen
from agent.verify.reproduction.report.report_fields import ToldError

ALIKE = 0.72
"""Ratio of difflib from which on two messages count as one: versions reword them."""

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")
_SPACE = re.compile(r"\s+")


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
    if told.type != seen.type:
        return False
    if not told.message:
        return True
    wanted, found = normalize_message(told.message), normalize_message(seen.message)
    if wanted == found or (len(wanted) > 12 and wanted in found) or (len(found) > 12 and found in wanted):
        return True
    return difflib.SequenceMatcher(None, wanted[:400], found[:400], autojunk=False).ratio() >= ALIKE


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

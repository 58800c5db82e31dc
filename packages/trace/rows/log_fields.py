"""Fields of a log's lines, which are untrusted: each is read as if anything could stand there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agent.monitor.signals.session_steps import UNTESTED

TOLD: Mapping[str, tuple[str, ...]] = {
    "signal": ("name", "detail"),
    "error": ("fault", "message"),
    "phase": ("phase", "after"),
    "undo": ("action", "paths"),
    "merge": ("outcome", "paths"),
    "finding": ("note", "place"),
    "goal": ("stage", "outcome", "detail", "reason"),
    "guidance": ("attempt", "text"),
    "attempt-stop": ("attempt",),
    "fork": ("origin", "at"),
}
"""Fields by which a row tells an event of a kind."""


def get_text(value: object) -> str:
    """Return a field as text: "" for none, JSON for what is no text."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def read_number(value: object) -> float:
    """Return a field as a number, 0 for what is none."""
    return float(value) if isinstance(value, int | float) and abs(value) < 1e15 else 0.0


def read_list(value: object) -> list[Any]:
    """Return a field as a list, [] for what is none."""
    return value if isinstance(value, list) else []


def measure_text(text: str) -> int:
    """Return the bytes of a text."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def shorten_line(text: str) -> str:
    """Return the beginning of a text as one line."""
    return " ".join(text[:400].split())[:160]


def describe_arguments(arguments: object) -> str:
    """Return the argument by which a call is told from others of its tool."""
    if not isinstance(arguments, dict):
        return ""
    for name in ("path", "command", "pattern", "query", "task", "name", "summary", "message"):
        if isinstance(arguments.get(name), str):
            return shorten_line(arguments[name])[:80]
    return next((shorten_line(each)[:80] for each in arguments.values() if isinstance(each, str)), "")


def format_arguments(arguments: Mapping[str, Any]) -> str:
    """Return arguments as "name: value", a value of several lines below its name."""
    texts = {name: get_text(value) for name, value in arguments.items()}
    return "\n".join(
        f"{name}:\n{text}" if "\n" in text else f"{name}: {text}" for name, text in texts.items()
    )


def read_usage(value: object) -> dict[str, Any]:
    """Return the tokens, seconds and cost of a reply's usage."""
    fields: Mapping[str, Any] = value if isinstance(value, dict) else {}
    cost = fields.get("cost")
    counts = {
        name: read_number(fields.get(name)) for name in ("input", "cached", "output", "reasoning", "seconds")
    }
    return {**counts, "cost": read_number(cost) if isinstance(cost, int | float) else None}


def build_call(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return an action of a reply as a row shows it."""
    arguments = asked.get("arguments")
    shown = format_arguments(arguments) if isinstance(arguments, dict) else get_text(arguments)
    return {
        "call": get_text(asked.get("id")),
        "tool": get_text(asked.get("tool")),
        "about": describe_arguments(arguments),
        "arguments": shown or get_text(asked.get("raw")),
        **({"problem": get_text(asked.get("problem"))} if asked.get("problem") else {}),
    }


def read_test_report(report: object) -> tuple[list[int], list[str]] | None:
    """Return how many tests passed and failed, and the names of the failing ones; None where none were run."""
    if not isinstance(report, dict) or "passed" not in report:
        return None
    if get_text(report.get("outcome")) in UNTESTED:
        return None
    failed = int(read_number(report.get("failed"))) + int(read_number(report.get("errors")))
    names = [get_text(each.get("id")) for each in read_list(report.get("failures")) if isinstance(each, dict)]
    return [int(read_number(report.get("passed"))), failed], names


def read_folds(value: object) -> list[dict[str, str]]:
    """Return what a compaction put in place of runs of events: their span and the text."""
    folds = [each for each in read_list(value) if isinstance(each, dict)]
    return [
        {
            "span": f"{get_text(each.get('first'))} to {get_text(each.get('last'))}",
            "text": get_text(each.get("text")),
        }
        for each in folds
    ]

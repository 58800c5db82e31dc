"""What the screen, and data that others rely on, are compared with: files that hold how it was when last looked at."""

from __future__ import annotations

import difflib
import json
import os
import re
from pathlib import Path
from typing import Any

from tests.support.terminal import Terminal

GOLDEN = Path(__file__).parents[1] / "cli/tui/golden"
WRITING = os.environ.get("GOLDEN") == "write"  # PATCHWRIGHT_… is taken out of a test's environment


def settled(terminal: Terminal) -> str:
    """All that was printed since the first prompt, without what differs from run to run.

    Of the terminal's other screen, what stands there.
    """
    lines = terminal.everything.rstrip().split("\n")[:-1]
    first = next(index for index, line in enumerate(lines) if line.startswith("❯ "))
    text = "\n".join(lines[first:])
    if "PgDn" in terminal.text.split("\n")[-1]:
        text = terminal.text.rpartition("\n")[0]
        text = text[max(text.find("● edit"), 0) :]  # what was read at once before it ends in any order
    if "Go on with which session?" in text:
        text = text[text.rindex("❯ /resume") :]  # the model of the screen keeps lines of the other one
    return steady(text)


def steady(text: str) -> str:
    """Without what differs from run to run: a turn's summary, times, names of sessions and folders, and the footer."""
    text += "\n"
    text = re.sub(r"(?m)^(✔|!) .* · .*\n(?:  .*\n)*", r"\1 (summary)\n", text)
    text = re.sub(r"(?m) \(\d+\.\d s\)(?=$| · \+\d)", "", text)  # of an action that took longer than a second
    text = re.sub(r"(?m)thought for \d+\.\d s$", "thought for a moment", text)
    text = re.sub(r"(?m)^[◐◓◑◒] (.*?)(?: · \d+ s)?((?: · \S+ tokens)?)(?: · esc to stop)?$", r"◐ \1\2", text)
    text = re.sub(r"(?s)patchwright \d\S* ·.{1,300}?/help", "patchwright · (folder) · /help", text)
    text = re.sub(r"(?m)^tip: .*(?:\n(?!\n).*)*", "tip: (of the day)", text)
    text = re.sub(r"\d{8}-\d{6}-[0-9a-f]{4}", "(session)", text)
    text = re.sub(r"(?m)\d{1,2} [A-Z][a-z]{2} \d\d:.*$", "(when)", text)
    text = re.sub(r"(?m)^● git_commit .*: [0-9a-f]{7,}$", "● git_commit (message): (commit)", text)
    text = re.sub(
        r"(?m)^● repair .*: (\d+ fix\w*), \d+ .*$(?:\n  \+\d+ lines \(Ctrl-O\)$)?",
        r"● repair (tests): \1, (some) candidates",
        text,
    )
    text = re.sub(r"passed in \d+\s*\.\s*\d s", "passed in 0.0 s", text)
    return re.sub(r"\d+\.\d s\b", "0.0 s", text)


def looks_as_it_did(terminal: Terminal, name: str) -> None:
    """Compare the screen with the file of this name. GOLDEN=write writes it anew."""
    compare(settled(terminal), name)


def compare(seen: str, name: str) -> None:
    """Compare a text with the file of this name. GOLDEN=write writes it anew."""
    path = GOLDEN / f"{name}.txt"
    if WRITING:
        path.write_text(seen)
    known = path.read_text()
    changes = _compare_lines(known, seen, path.name)
    assert seen == known, f"{path.name} has changed: look at it, then GOLDEN=write\n{changes}"


def compare_data(seen: Any, path: Path) -> None:
    """Compare data with a JSON file, line by line, keys sorted. GOLDEN=write writes it anew."""
    text = json.dumps(seen, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    if WRITING:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    known = path.read_text("utf-8")
    changes = _compare_lines(known, text, path.name)
    assert text == known, (
        f"{path.name} has changed: if it is meant, GOLDEN=write and the changelog\n{changes}"
    )


def _compare_lines(known: str, seen: str, name: str) -> str:
    return "\n".join(difflib.unified_diff(known.split("\n"), seen.split("\n"), name, "now", "", "", 2, ""))

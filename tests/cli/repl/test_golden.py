"""Golden screens: what typical states look like at three sizes. GOLDEN=write writes them anew; look at
what changed before you commit it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.support.scenes import open_story, story
from tests.support.terminal import Terminal

GOLDEN = Path(__file__).parent / "golden"
WRITING = os.environ.get("GOLDEN") == "write"  # PATCHWRIGHT_… is taken out of a test's environment


def settled(terminal: Terminal) -> str:
    """All that was printed since the first prompt, without what differs from run to run: a turn's summary, times,
    and the footer."""
    lines = terminal.everything.rstrip().split("\n")[:-1]
    first = next(index for index, line in enumerate(lines) if line.startswith("> "))
    text = "\n".join(lines[first:])
    text = re.sub(r"(?m)^(✔|!) .* · .*\n(?:  .*\n)*", r"\1 (summary)\n", text)
    text = re.sub(
        r" \(\d+\.\d s\)$", "", text, flags=re.MULTILINE
    )  # of an action that took longer than a second
    text = re.sub(r"thought for \d+\.\d s$", "thought for a moment", text, flags=re.MULTILINE)
    return re.sub(r"\d+\.\d s\b", "0.0 s", text) + "\n"


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "rows"), [(40, 15), (80, 24), (120, 40)])
def test_screens_look_as_they_did(columns: int, rows: int, shop: Path) -> None:
    with open_story(shop, columns, rows) as terminal:
        for name in story(terminal):
            path = GOLDEN / f"{name}-{columns}x{rows}.txt"
            seen = settled(terminal)
            if WRITING:
                path.write_text(seen)
            assert seen == path.read_text(), f"{path.name} has changed: look at it, then GOLDEN=write"

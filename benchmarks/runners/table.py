"""Print the table of recorded runners: each runner's own verdict beside ours, and what of it agrees.

python benchmarks/runners/table.py
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.runners.recordings import Case, list_recordings

MOST_WORDS = 70
"""Characters of a runner's closing lines that the table shows."""


def main() -> None:
    """Print totals, then one row for each recording."""
    found = [
        (profile.name, name, profile.cases[name], tomllib.loads(path.read_text("utf-8")))
        for profile, name, path in list_recordings()
    ]
    print("\n".join((*format_totals(found), "", *format_rows(found))))


Row = tuple[str, str, Case, Mapping[str, Any]]


def format_totals(found: list[Row]) -> Iterator[str]:
    """Yield the summary as rows of a table."""
    stated = [(case.counts, tuple(told["counts"])) for _, _, case, told in found if case.counts]
    again = [each["alone"] for _, _, _, told in found for each in told.get("failing", ())]
    false = [
        name for name, _, case, told in found if told["verdict"] == "passed" and "passed" not in case.verdicts
    ]
    by_exit = [
        name for name, _, case, told in found if told["their_exit"] == 0 and "passed" not in case.verdicts
    ]
    right = sum(told["verdict"] in case.verdicts for _, _, case, told in found)
    equal = sum(right == ours for right, ours in stated)
    yield "| | |\n|---|--:|"
    yield f"| runners (profiles, one a release) | {len({name for name, *_ in found})} |"
    yield f"| cases | {len(found)} |"
    yield f"| failed, empty, skipped or cut runs that end with exit 0 | {len(by_exit)} |"
    yield f"| of these reported as passed | {len(false)} |"
    yield f"| verdicts as expected | {right} ({right / len(found):.1%}) |"
    yield f"| counts equal to the runner's, where it states them | {_format_share(equal, len(stated))} |"
    yield f"| failing names that ran again alone | {_format_share(sum(again), len(again))} |"


def _format_share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.1%})"


def format_rows(found: list[Row]) -> Iterator[str]:
    """Yield the table of all recordings."""
    yield "| runner | version | case | theirs: exit, words | ours | passed, failed, errors, skipped | names again |"
    yield "|---|---|---|---|---|---|---|"
    for name, case, _, told in found:
        words = " ".join(told["their_words"].split()).replace("|", "\\|").strip("= ")
        words = words if len(words) <= MOST_WORDS else f"{words[:MOST_WORDS]}…"
        again = [each["alone"] for each in told.get("failing", ())]
        names = f"{sum(again)} of {len(again)}" if again else ""
        counts = ", ".join(str(each) for each in told["counts"])
        theirs = f"{told['their_exit']} {words}"
        yield f"| {name} | {told['version']} | {case} | {theirs} | {told['verdict']} | {counts} | {names} |"


if __name__ == "__main__":
    main()

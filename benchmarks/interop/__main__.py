"""Run the cases, and write their table."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from datetime import date
from pathlib import Path

from benchmarks.interop.case_file import read_case_files
from benchmarks.interop.newest import describe_newest
from benchmarks.interop.plugins import describe_plugins
from benchmarks.interop.table import format_table, run_cases, share_same

LEAST_SAME = 0.97
"""Share of cases that have to be as the original."""


def main() -> int:
    """Return 1 for a case that is silent, or for too few as the original."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--format", nargs="*", help="only these formats, by their files' names")
    parser.add_argument("--output", type=Path, help="file for the table; standard output without it")
    parser.add_argument(
        "--newest", action="store_true", help="name formats with a newer release than the cases'"
    )
    parser.add_argument(
        "--plugins", nargs="*", default=[], help="folders, or OWNER/NAME on GitHub, to load as plugins"
    )
    given = parser.parse_args()
    files = [each for each in read_case_files() if not given.format or each.format in given.format]
    rows = list(run_cases(files))
    parts = [f"# What others wrote, here\n\n{date.today().isoformat()}, `python -m benchmarks.interop`.\n"]
    parts.append(format_table(files, rows))
    if given.plugins:
        with tempfile.TemporaryDirectory() as folder:
            parts.append(describe_plugins(given.plugins, Path(folder)))
    if given.newest:
        parts.append(describe_newest())
    text = "\n".join(parts)
    if given.output is not None:
        given.output.write_text(text, "utf-8")
    else:
        print(text)
    counts = Counter(each.outcome for each in rows)
    print(f"{len(rows)} cases of {len(files)} formats: {dict(counts)}", file=sys.stderr)
    return int(bool(counts["silent"]) or share_same(rows) < LEAST_SAME)


if __name__ == "__main__":
    raise SystemExit(main())

"""Tokens of `pipeline` on real issues, against recorded SWE-agent runs on the same instances.

Both are counted as characters over four. A recorded run pays its whole history at each step. The pipeline pays its
prompt once, and where the first patch fails, one question for all others with an earlier patch, its failure and fewer
places; and for each patch twice the characters of that of the fix. Nothing runs: whether patches are right is not
measured.
"""

from __future__ import annotations

import json
import lzma
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import mean, median
from typing import Any

from packages.search.pipeline.places import (
    MOST_DETAIL,
    MOST_FAILURES,
    Place,
    collect_places,
    collect_retry_places,
)
from packages.search.pipeline.questions import (
    MOST_EARLIER,
    RETRY_DETAIL,
    RETRY_FAILURES,
    read_system_prompt,
)
from packages.search.pipeline.several_patches import ASK
from tools.code.index.code_index import Index, ask_index

CHARACTERS = 4
"""Of a token."""

ATTEMPTS = 3
"""Patches of a turn, by default."""

FAILURES, LATER_FAILURES = MOST_FAILURES * MOST_DETAIL, RETRY_FAILURES * RETRY_DETAIL
"""Characters of failing tests in both questions: the most that there can be, since no suite runs here."""


def report_tokens(instances: Path, recorded: Path, mirrors: Path, number: int, seed: int) -> None:
    """Print the tokens of both for each of some instances, and the means."""
    rows = {each["instance_id"]: each for each in map(json.loads, instances.read_text("utf-8").splitlines())}
    runs = {each["id"].partition("@")[0]: each for each in _read_runs(recorded)}
    known = [name for name in sorted(runs) if name in rows and _find_repository(mirrors, rows[name]["repo"])]
    Random(seed).shuffle(known)
    shares, found = [], []
    for name in known[:number]:
        row = rows[name]
        places, later = _find_places(_find_repository(mirrors, row["repo"]), row)
        fixed, patch = len(read_system_prompt()) + len(row["problem_statement"]), 2 * len(row["patch"])
        one = (fixed + _count_source(places) + FAILURES + patch) / CHARACTERS
        told = MOST_EARLIER + LATER_FAILURES + len(ASK)
        most = one + (fixed + _count_source(later) + told + (ATTEMPTS - 1) * patch) / CHARACTERS
        theirs = _count_run(runs[name]["history"]) / CHARACTERS
        shares.append((one / theirs, most / theirs))
        found.append(any(each.path in row["gold_files"] for each in places))
        print(f"{name:36} {one:7.0f} once {most:8.0f} at most {theirs:9.0f} recorded", flush=True)
    for label, values in zip(("one patch", "all patches"), zip(*shares, strict=True), strict=True):
        print(f"{label:12} {mean(values):.1%} of the recorded tokens (median {median(values):.1%})")
    print(f"{sum(found)} of {len(found)} prompts hold a file of the fix")


def _read_runs(recorded: Path) -> Iterator[dict[str, Any]]:
    data = recorded.read_bytes()
    text = lzma.decompress(data) if recorded.suffix == ".xz" else data
    return (json.loads(line) for line in text.splitlines() if line.strip())


def _count_run(history: Sequence[Mapping[str, Any]]) -> int:
    """Return the characters that a run sends and gets, step by step."""
    sent = total = 0
    for each in history:
        size = len(each["content"] or "")
        if each["role"] == "assistant":
            total += sent + size
        sent += size
    return total


def _find_places(repository: Path | None, row: Mapping[str, Any]) -> tuple[list[Place], list[Place]]:
    """Return the places of the first question, and of the one after a patch that changed the first of them."""
    with tempfile.TemporaryDirectory(prefix="pipeline-") as scratch:
        folder, cache = Path(scratch, "project"), Path(scratch, "cache")
        folder.mkdir()
        cache.mkdir()
        archive = ["git", "-C", str(repository), "archive", row["base_commit"]]
        with subprocess.Popen(archive, stdout=subprocess.PIPE) as packed:
            subprocess.run(["tar", "-x", "-C", str(folder)], stdin=packed.stdout, check=True)
        text = row["problem_statement"]

        def ask(index: Index) -> tuple[list[Place], list[Place]]:
            places = collect_places(index, text)
            changed = [(each.path, each.first, each.last) for each in places[:1]]
            return places, collect_retry_places(index, text, changed, is_elsewhere=False)

        return ask_index(folder, cache, (), ask)


def _count_source(places: Sequence[Place]) -> int:
    return sum(len(each.format()) + 2 for each in places)


def _find_repository(mirrors: Path, name: str) -> Path | None:
    owner, _, short = name.partition("/")
    for folder in (f"{owner}+{short}", f"swe-bench+{owner}__{short}"):
        if (mirrors / folder / "repo").is_dir():
            return mirrors / folder / "repo"
    return None

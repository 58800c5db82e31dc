"""Patches of five agents for SWE-bench Lite: choice by static signs alone, nothing is executed.

Only tasks with right and wrong patches count. The field that names the agent is not read, and its traces in the diffs
are removed: headers, and files that a patch adds (reproduction scripts, for the most part).
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.verification.pools import find_repository, is_development, list_files, read_blob
from cli.output.diff.diff_parser import FileDiff, parse_diff
from packages.search.select.static_signs import PatchFile, StaticSigns, measure_signs

ROVER, AIDER = "nus-apr/auto-code-rover", "paul-gauthier/aider-swe-bench"


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteTask:
    """One task. issue: its text; right: for each patch"""

    name: str
    issue: str
    patches: Sequence[str]
    right: Sequence[bool]


def read_tasks(mirrors: Path, issues: Path) -> list[LiteTask]:
    """Return the mixed tasks of the development half. issues: file with `instance_id` and `problem_statement`"""
    if not issues.is_file():
        sys.exit(f"missing: the issues' texts at {issues}")
    texts = {
        each["instance_id"]: each["problem_statement"]
        for each in map(json.loads, issues.read_text().splitlines())
    }
    found: dict[str, list[tuple[str, bool]]] = defaultdict(list)
    for name, patch, resolved in _iter_candidates(mirrors):
        if is_development(name) and patch.strip():
            found[name].append((patch, resolved))
    return [
        LiteTask(
            name=name,
            issue=texts.get(name, ""),
            patches=[patch for patch, _ in rows],
            right=[resolved for _, resolved in rows],
        )
        for name, rows in sorted(found.items())
        if len({resolved for _, resolved in rows}) == 2
    ]


def measure_task(task: LiteTask) -> list[StaticSigns]:
    """Return the signs of each patch."""
    return measure_signs([strip_traces(each) for each in task.patches], task.issue)


def choose(task: LiteTask) -> list[int]:
    """Return the patches with the best score."""
    scores = [round(each.score, 9) for each in measure_task(task)]
    return [place for place, score in enumerate(scores) if score == max(scores)]


def choose_shortest(task: LiteTask) -> list[int]:
    """Return the shortest diff."""
    return [min(range(len(task.patches)), key=lambda place: len(task.patches[place]))]


def choose_majority(task: LiteTask) -> list[int]:
    """Return the first patch with the most frequent changed lines."""
    keys = ["\n".join(re.findall(r"^[+-](?![+-]{2}).*", each, re.MULTILINE)) for each in task.patches]
    return [keys.index(Counter(keys).most_common(1)[0][0])]


def strip_traces(patch: str) -> list[PatchFile]:
    """Return a patch without the files that it adds; headers are not part of the parsed form."""
    return [
        PatchFile(path=file.path, added=_list_added(file), places=list(_iter_places(file)))
        for file in parse_diff(patch)
        if file.old and file.hunks
    ]


def _list_added(file: FileDiff) -> list[str]:
    return [line.text for hunk in file.hunks for line in hunk.lines if line.sign == "+"]


def _iter_places(file: FileDiff) -> Iterator[tuple[int, int]]:
    """Yield the first and last old line of each hunk's changes; an added line stands at the old one after it."""
    for hunk in file.hunks:
        at, touched = 0, list[int]()
        for line in hunk.lines:
            at = line.old or at
            if line.sign in "+-":
                touched.append(line.old or at + 1)
        if touched:
            yield min(touched), max(touched)


def _iter_candidates(mirrors: Path) -> Iterator[tuple[str, str, bool]]:
    """Yield (task, patch, resolved) of all runs, in their order."""
    rover = find_repository(mirrors, ROVER)
    for run in ("acr-run-1", "acr-run-2", "acr-run-3", "acr-val-only", "acr-val-sbfl"):
        report = _read_json(rover, f"results/{run}/old_eval_results/final_report.json")
        resolved = {each for names in report["resolved_per_project"].values() for each in names}
        for each in _read_json(rover, f"results/{run}/predictions_for_swebench.json"):
            yield each["instance_id"], each.get("model_patch") or "", each["instance_id"] in resolved
    for number in (1, 2, 3):
        folder = f"results/swe-agent-results/cost_2_{number}"
        resolved = set(_read_json(rover, f"{folder}/final_report.json")["resolved"])
        for line in read_blob(rover, f"{folder}/all_preds.jsonl").decode().strip().split("\n"):
            each = json.loads(line)
            yield each["instance_id"], each.get("model_patch") or "", each["instance_id"] in resolved
    aider = find_repository(mirrors, AIDER)
    for path in list_files(aider, "predictions"):
        each = _read_json(aider, path) if path.endswith(".json") else {}
        if "resolved" in each and "instance_id" in each:
            yield each["instance_id"], each.get("model_patch") or "", bool(each["resolved"])


def _read_json(repository: Path, path: str) -> Any:
    return json.loads(read_blob(repository, path).decode("utf-8", "replace"))

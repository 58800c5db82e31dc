"""Whether past cases lead to the right file, and how long the retrieval takes.

    python benchmarks/memory_retrieval.py TASKS.jsonl

TASKS: SWE-bench tasks (`repo`, `instance_id`, `created_at`, `problem_statement`, `patch`), which are not part of the
repository. In time order, each task is a prompt, and those before it in its repository are the cases (the first five
are not asked). A hit: one of the files that the patch changes is a file of the top 1, 3 or 5 cases.
"""

from __future__ import annotations

import collections
import json
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agent.memory.case_search import find_similar_places
from agent.memory.memory_store import MemoryStore
from agent.memory.records import Case

TOPS, UNASKED, MANY = (1, 3, 5), 5, 10_000


def list_files(task: Mapping[str, Any]) -> list[str]:
    """Return the files that a task's patch changes."""
    return re.findall(r"^diff --git a/(\S+) b/", task["patch"], re.MULTILINE)


def list_names(task: Mapping[str, Any]) -> list[str]:
    """Return the functions and classes that a task's patch changes, as its hunks name them."""
    return re.findall(r"^@@ .*? @@ (.*)$", task["patch"], re.MULTILINE)


def replay(tasks: list[dict[str, Any]], folder: Path) -> Iterator[tuple[list[bool], bool]]:
    """Yield, by asked task, whether the top cases hit, for each of `TOPS`, and whether any case could."""
    by_repo = collections.defaultdict(list)
    for task in tasks:
        by_repo[task["repo"]].append(task)
    for repo, own in by_repo.items():
        store = MemoryStore(folder / f"{repo.replace('/', '-')}.sqlite")
        own.sort(key=lambda each: each.get("created_at") or each["instance_id"])
        seen: set[str] = set()
        for number, task in enumerate(own):
            files = set(list_files(task))
            if number >= UNASKED:
                found = find_similar_places(store, task["problem_statement"], max(TOPS))
                yield (
                    [any(files & set(places) for places, _ in found[:top]) for top in TOPS],
                    bool(files & seen),
                )
            seen |= files
            store.add_case(
                Case(
                    session=task["instance_id"], event="e1", time=float(number), task=task["problem_statement"][:2000],
                    places=tuple(list_files(task)), names=tuple(list_names(task)),
                )
            )  # fmt: skip


def measure_time(tasks: list[dict[str, Any]], folder: Path) -> list[float]:
    """Return the milliseconds of the processor for retrievals over `MANY` cases, made of paragraphs of the tasks."""
    draw = random.Random(1)
    parts = [each for task in tasks for each in task["problem_statement"].split("\n\n") if len(each) > 40]
    store = MemoryStore(folder / "many.sqlite")
    store.add_cases(
        [
            Case(
                session=str(number), event="e", time=float(number), task="\n\n".join(draw.choices(parts, k=3))[:2000],
                places=tuple(list_files(draw.choice(tasks))),
            )
            for number in range(MANY)
        ]
    )  # fmt: skip
    times = []
    for task in tasks:
        began = time.process_time()
        find_similar_places(store, task["problem_statement"], 2)
        times.append(1000 * (time.process_time() - began))
    return times


def main() -> None:
    """Print the figures."""
    tasks = [json.loads(line) for line in Path(sys.argv[1]).read_text("utf-8").splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        results = list(replay(tasks, Path(folder)))
        for number, top in enumerate(TOPS):
            print(f"top {top}: {100 * statistics.mean(each[number] for each, _ in results):.1f} %")
        print(
            f"ceiling: {100 * statistics.mean(could for _, could in results):.1f} % of {len(results)} tasks"
        )
        times = sorted(measure_time(tasks, Path(folder)))
    print(
        f"{MANY} cases: median {statistics.median(times):.1f} ms, 95 %: {times[int(0.95 * len(times))]:.1f} ms"
    )


if __name__ == "__main__":
    main()

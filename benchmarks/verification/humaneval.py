"""HumanEval solutions of 22 models that HumanEval+ finds right in less than 90 % of the tasks.

The base tests are the suite, HumanEval+ (Liu et al. 2023) is the truth. What a suite cannot tell apart, the behaviour
on generated inputs may.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.verification.pools import (
    PRELUDE,
    find_repository,
    is_development,
    list_files,
    read_blob,
    read_blobs,
    read_humaneval,
    read_json_lines,
)
from benchmarks.verification.runs import Task
from packages.search.programs.checks import Check, read_call

POOL, TRUTH = "JueH-96/Code-Quality-HumanEval", "evalplus/humanevalplus_release"


def read_tasks(mirrors: Path) -> Iterator[Task]:
    """Yield the tasks of the development half with the solutions of all models, in the order of their names."""
    base = read_humaneval(mirrors)
    plus = read_json_lines(read_blob(find_repository(mirrors, TRUTH), "HumanEvalPlus-OriginFmt.jsonl.gz"))
    repository = find_repository(mirrors, POOL)
    files: dict[str, list[tuple[str, str]]] = {}
    for path in list_files(repository):
        if match := re.fullmatch(r"([^/]+)/HumanEval_(\d+)\.py", path):
            files.setdefault(f"HumanEval/{match[2]}", []).append((match[1], path))
    for record in plus:
        name, entry = record["task_id"], record["entry_point"]
        if not is_development(name):
            continue
        found = sorted(files.get(name, []))
        sources = [
            PRELUDE + each.decode("utf-8", "replace")
            for each in read_blobs(repository, [path for _, path in found])
        ]
        yield Task(
            name=name,
            function=entry,
            prompt=PRELUDE + record["prompt"],
            names=[model for model, _ in found],
            sources=sources,
            given=_collect_calls(base[name]["test"]),
            suite=[f"{base[name]['test']}\ncheck({entry})"],
            truth=f"{record['test']}\ncheck({entry})",
        )


def _collect_calls(test: str) -> list[Check]:
    """Return the calls in the base tests as inputs, without expected values: the suite itself judges these."""
    calls = (read_call(node, "candidate") for node in ast.walk(ast.parse(test)))
    return [Check(text="", call=each) for each in dict.fromkeys(calls) if each]

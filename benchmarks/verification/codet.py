"""CodeT's pool (Chen et al. 2022): HumanEval programs and tests, both sampled from CodeGen-16B.

Baselines in the same run: a random program, the most tests passed, CodeT's consensus sets, the prompt's examples and
then CodeT, and an oracle.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.verification.pools import (
    PRELUDE,
    find_repository,
    is_development,
    read_blob,
    read_humaneval,
    read_json_lines,
)
from benchmarks.verification.runs import Task
from packages.search.programs.checks import Check, parse_assertion, parse_examples

FOLDER = "CodeT/data/generated_data/HumanEval_codegen16B_temp0.8_topp0.95_num100_max300_"
MOST_TESTS = 100
"""Different tests of a task: the most frequent ones."""


def read_tasks(mirrors: Path, samples: int) -> Iterator[Task]:
    """Yield the tasks of the development half with their first samples."""
    repository = find_repository(mirrors, "microsoft/CodeT")
    base = list(read_humaneval(mirrors).values())
    solutions = read_json_lines(read_blob(repository, FOLDER + "code_solution.jsonl"))
    written = {
        find_task_name(each["prompt"], base): each["samples"]
        for each in read_json_lines(read_blob(repository, FOLDER + "test_case.jsonl"))
    }
    tasks = {each["task_id"]: each for each in base}
    for record in solutions:
        name = find_task_name(record["prompt"], base)
        if name and name in written and is_development(name):
            entry = tasks[name]["entry_point"]
            sources = [PRELUDE + record["prompt"] + _cut_body(each) + "\n" for each in record["samples"]]
            yield Task(
                name=name,
                function=entry,
                prompt=PRELUDE + record["prompt"],
                names=[str(number) for number in range(len(sources[:samples]))],
                sources=sources[:samples],
                given=_read_examples(tasks[name]["prompt"], entry),
                suggested=list(_collect_tests(written[name], entry)),
                truth=f"{tasks[name]['test']}\ncheck({entry})",
            )


def find_task_name(prompt: str, base: Sequence[Mapping[str, str]]) -> str:
    """Return the task whose function a prompt begins; "" if there is none.

    Several tasks have a function of one name: of these, the one whose own prompt has the most of the words.
    """
    defined = re.findall(r"def (\w+)\s*\(", prompt)
    known = [name for name in defined if any(each["entry_point"] == name for each in base)]
    words = Counter(prompt.split())
    found = [each for each in base if known and each["entry_point"] == known[-1]]
    shared = [(words & Counter(each["prompt"].split())).total() for each in found]
    return found[shared.index(max(shared))]["task_id"] if found else ""


def _cut_body(sample: str) -> str:
    """Return a sample up to the first line that does not belong to the function."""
    return re.split(r"\n(?=\S)", sample)[0]


def _read_examples(prompt: str, entry: str) -> list[Check]:
    found = {(each.call, each.expected): each for each in parse_examples(prompt, entry)}
    return list(found.values())


def _collect_tests(samples: Sequence[str], entry: str) -> Iterator[Check]:
    """Yield the most frequent assertions of the samples."""
    counts: Counter[str] = Counter()
    for sample in samples:
        for part in f"assert {sample}".split("\nassert"):
            text = re.sub(r"^\s*assert\s*", "", part).strip().split("\n\n")[0]
            if f"{entry}(" in text:
                counts[text] += 1
    number = 0
    for text, count in sorted(counts.items(), key=lambda pair: -pair[1]):
        check = parse_assertion(f"assert {text}", entry)
        if check is not None and number < MOST_TESTS:
            number += 1
            yield Check(text=check.text, call=check.call, expected=check.expected, count=count)

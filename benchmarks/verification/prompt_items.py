"""Items of prompts that somebody else wrote: how many of those that a reader marked are recognised, and what besides.

    python -m benchmarks.verification.prompt_items MIRRORS [--half develop|held|unmarked] [--lite FILE] [--show]

See `prompt_marks/README.md`. Intervals: 95 % of 2,000 draws of prompts, with replacement: items of one are alike.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import json
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.verification.prompt_requirements import git
from packages.search.requirements.extraction import extract_late_requirements, extract_requirements

MARKS = Path(__file__).parent / "prompt_marks" / "marks.jsonl"
HUMANEVAL, MBPP, REFACTOR = "openai+human-eval", "muitiiifruckt+ASE", "microsoft+RefactorBench"

SAME_KINDS = {"mentioned": "name-exists"}
"""A name that is added is found where it is defined, or where the added lines have it."""

BY_FILE = ("file-exists", "file-gone", "file-changed")


def read_texts(mirrors: Path, rows: Sequence[Mapping[str, str]], lite: Path | None) -> dict[str, str]:
    """Return the prompts by id; those whose source is not at hand are left out."""
    texts: dict[str, str] = {}
    tasks = _read_tasks(mirrors, lite, {row["source"] for row in rows})
    for row in rows:
        source, id_ = row["source"], row["id"]
        if source == "commit":
            name, _, commit = id_.partition("@")
            repository = mirrors / name.replace("/", "+") / "repo"
            if repository.is_dir():
                texts[id_] = git(repository, "log", "-1", "--format=%s", commit).decode().strip()
        elif source == "refactor":
            texts[id_] = git(mirrors / REFACTOR / "repo", "show", f"HEAD:{id_}").decode()
        elif id_ in tasks:
            texts[id_] = tasks[id_]
    return texts


def _read_tasks(mirrors: Path, lite: Path | None, sources: set[str]) -> dict[str, str]:
    tasks: dict[str, str] = {}
    if "humaneval" in sources:
        packed = git(mirrors / HUMANEVAL / "repo", "show", "HEAD:data/HumanEval.jsonl.gz")
        for each in map(json.loads, gzip.decompress(packed).splitlines()):
            tasks[each["task_id"]] = each["prompt"]
    if "mbpp" in sources:
        for each in map(json.loads, git(mirrors / MBPP / "repo", "show", "HEAD:mbpp.jsonl").splitlines()):
            tests = "\n".join(each["test_list"])
            head = "You are an expert Python programmer, and here is your task:"
            tasks[str(each["task_id"])] = (
                f"{head} {each['text']} Your code should pass these tests:\n\n{tests}"
            )
    if lite is not None:
        for each in map(json.loads, lite.read_text(encoding="utf-8").splitlines()):
            tasks[each["instance_id"]] = each["problem_statement"].partition("\n")[0].strip()
    return tasks


def find_items(prompt: str) -> list[str]:
    """Return what is recognised, as marks are written."""
    found = [*extract_late_requirements(prompt), *extract_requirements(prompt)]
    items = (
        f"{each.kind} {each.check}".strip()
        for each in found
        if each.kind not in ("group", "code-changed", "judged")
    )
    return list(dict.fromkeys(items))


def is_same(found: str, mark: str) -> bool:
    """Return whether a recognised item is a marked one: a path may be shorter or longer, a name without its place."""
    kind, _, check = found.partition(" ")
    wanted, _, target = mark.partition(" ")
    if SAME_KINDS.get(kind, kind) != SAME_KINDS.get(wanted, wanted):
        return False
    if kind in BY_FILE:
        one, two = (each.lower().strip("/") for each in (check, target))
        return any(
            f"/{a}".endswith(f"/{b}") or f"/{a}".partition(".")[0].endswith(f"/{b}")
            for a, b in ((one, two), (two, one))
        )
    if kind == "result":
        return _normalise(check) == _normalise(target)
    if kind == "tested":
        return True
    return check.rpartition(":")[2].removeprefix("v") == target.rpartition(":")[2].removeprefix("v")


def _normalise(check: str) -> str:
    try:
        return ast.unparse(ast.parse(check))
    except SyntaxError:
        return check


def count_items(found: Sequence[str], marks: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Return (marks that were recognised, marks that were not, items that no mark has)."""
    open_marks = list(marks)
    beside = []
    for each in found:
        if match := next((mark for mark in open_marks if is_same(each, mark)), None):
            open_marks.remove(match)
        elif not any(is_same(each, mark) for mark in marks):
            beside.append(each)
    return [each for each in marks if each not in open_marks], open_marks, beside


def draw_interval(counts: Sequence[tuple[int, int, int]], seed: int = 1) -> tuple[str, str]:
    """Return 95 % intervals of recall and precision over prompts. counts: (hit, missed, beside) of each"""
    draw = random.Random(seed)
    recalls, precisions = [], []
    for _ in range(2000):
        hit, missed, beside = map(sum, zip(*draw.choices(counts, k=len(counts)), strict=True))
        recalls.append(hit / max(1, hit + missed))
        precisions.append(hit / max(1, hit + beside))
    return _cut(recalls), _cut(precisions)


def _cut(values: list[float]) -> str:
    ordered = sorted(values)
    return f"{ordered[50]:.0%} to {ordered[1949]:.0%}"


def main() -> None:
    """Print recall and precision by kind of prompt and of item."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mirrors", type=Path)
    parser.add_argument("--half", choices=("develop", "held", "unmarked"), default="develop")
    parser.add_argument("--lite", type=Path, help="SWE-bench Lite as lines of JSON")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    rows = [json.loads(line) for line in MARKS.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["half"] == options.half]
    texts = read_texts(options.mirrors, rows, options.lite)
    counts = []
    by_source: dict[str, Counter[str]] = defaultdict(Counter)
    by_kind: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        if row["id"] not in texts:
            continue
        found = find_items(texts[row["id"]])
        if options.half == "unmarked":
            print(
                *(f"{row['source']} {row['id']} {texts[row['id']][:160]!r} | {each}" for each in found),
                sep="\n",
                end="\n" if found else "",
            )
            continue
        hit, missed, beside = count_items(found, row["items"])
        counts.append((len(hit), len(missed), len(beside)))
        for name, items in (("hit", hit), ("missed", missed), ("beside", beside)):
            by_source[row["source"]][name] += len(items)
            for each in items:
                by_kind[each.partition(" ")[0]][name] += 1
        if options.show and (missed or beside):
            print(f"{row['id']} {texts[row['id']][:160]!r}\n  missed {missed}\n  beside {beside}")
    for name, one in [*sorted(by_source.items()), *sorted(by_kind.items())]:
        print(f"{name:18} {one['hit']:3} of {one['hit'] + one['missed']:3}, {one['beside']} besides")
    if counts:
        right, lost, more = (sum(column) for column in zip(*counts, strict=True))
        recall, precision = draw_interval(counts)
        print(
            f"{len(counts)} prompts: recall {right} of {right + lost} = {right / max(1, right + lost):.0%} ({recall})"
        )
        print(f"precision {right} of {right + more} = {right / max(1, right + more):.0%} ({precision})")


if __name__ == "__main__":
    main()

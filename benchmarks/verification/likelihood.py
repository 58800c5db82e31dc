"""What a local model says of candidates: `python -m benchmarks.verification.likelihood RECORD --mirrors FOLDER`.

Of the recorded tasks below --work (`python -m benchmarks.verification codet|humaneval`) that have right and wrong
candidates, the leading groups by the product's weights are asked about, in two kinds:

- results: the log-probability of each result behind `assert f(call) ==` and the task's text, for few calls that tell
  the groups apart;
- bodies: that of one program of each group, behind the task's text.

For patches of SWE-bench Lite (kind changes): that of the new and of the old lines of the first hunk, between the hunk's
other lines and beside the issue. One line of RECORD is one task and kind; what is there is not asked again.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import itertools
import json
import math
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from agent.model.infill import filler as fillers
from agent.model.infill.fill_forms import FORMS, Gap
from agent.model.infill.filler import Filler
from benchmarks.verification import codet, evaluate, lite, runs
from benchmarks.verification.pools import PRELUDE, read_humaneval
from cli.output.diff.diff_parser import Hunk, parse_diff
from packages.offline.infill.naturalness import LineChange, find_line_change
from packages.search.programs.behaviour import format_key, has_value
from packages.search.programs.input_generation import measure_unread
from packages.search.select.agreement import BehaviourTable, Group, form_groups
from packages.search.select.static_signs import is_test_file

GROUPS = {"results": 8, "bodies": 4}
"""Leading groups that are asked about: a result has few tokens, a body some forty."""

CALLS, PATCHES = 4, 4
LONGEST_CALL, LONGEST_RESULT, LONGEST_BODY = 90, 60, 240
MOST_TOKENS = 128
LEAST_SHARE = 0.05
"""Share of the results' probability that even an unlikely one is given: the model may be wrong."""

Told = tuple[float, int]
"""Log-probability of a text, its end included, and its number of tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A task of a pool. text: of the task; members: numbers of the candidates to choose from"""

    pool: str
    record: evaluate.Record
    text: str
    members: Sequence[int]

    @property
    def is_mixed(self) -> bool:
        """Whether a choice can be right or wrong; elsewhere no witness changes anything."""
        return len({self.record["right"][each] for each in self.members}) == 2


def list_groups(record: evaluate.Record, members: Sequence[int]) -> list[Group]:
    """Return the groups of candidates, the best by the product's weights first."""
    table = BehaviourTable(calls=record["calls"], keys=record["keys"])
    unread = {each: measure_unread(record["sources"][each], record["function"]) for each in members}
    return form_groups(table, evaluate.build_tests(record, "suggested"), members, unread)


def main() -> None:
    """Ask for what is not in the record, the tasks in an order that the seed gives."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("record", type=Path)
    parser.add_argument("--mirrors", type=Path, default=os.environ.get("MIRRORS"), help="bare clones")
    parser.add_argument("--work", type=Path, default=Path("selection-runs"), help="folder of recorded runs")
    parser.add_argument(
        "--issues", type=Path, default=Path(os.environ.get("DATA", "."), "swebench_lite_dev.jsonl")
    )
    parser.add_argument("--api-base", default="http://127.0.0.1:8080/v1")
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--seconds", type=float, default=1500.0, help="after which no task is begun")
    parser.add_argument("--patience", type=float, default=fillers.PATIENCE, help="seconds for a text")
    parser.add_argument("--pools", default="examples,humaneval,codet,lite")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.mirrors is None:
        sys.exit("missing: --mirrors FOLDER, or MIRRORS in the environment")
    fillers.PATIENCE = options.patience
    asyncio.run(ask(options))


async def ask(options: argparse.Namespace) -> None:
    """Ask one question after the other, and write what is told."""
    filler = Filler(options.api_base, options.model, form=FORMS["infill"])
    end = time.monotonic() + options.seconds
    done = {(each["pool"], each["task"], each["kind"]) for each in read_told(options.record)}
    for pool, task, kind, question in list_questions(options):
        if (pool, task, kind) in done:
            continue
        if time.monotonic() > end:
            break
        began = time.monotonic()
        told = await _ask_question(filler, kind, question)
        entry = {
            "pool": pool,
            "task": task,
            "kind": kind,
            "told": told,
            "seconds": round(time.monotonic() - began, 1),
            "load": round(os.getloadavg()[0], 1),
        }
        with options.record.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        print(pool, task, kind, entry["seconds"], flush=True)


def read_told(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a record; [] if there is none yet."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def list_questions(options: argparse.Namespace) -> Iterator[tuple[str, str, str, Question | lite.LiteTask]]:
    """Yield pool, task, kind and what is asked about, the quick kind first, the slow one last."""
    pools = options.pools.split(",")
    questions = [
        each for each in read_questions(options.mirrors, options.work) if each.pool in pools and each.is_mixed
    ]
    Random(options.seed).shuffle(questions)
    questions.sort(key=lambda each: pools.index(each.pool))
    for each in questions:
        yield each.pool, each.record["task"], "results", each
    if "lite" in pools:
        tasks = lite.read_tasks(options.mirrors, options.issues)
        Random(options.seed).shuffle(tasks)
        for task in tasks:
            yield "lite", task.name, "changes", task
    for each in questions:
        yield each.pool, each.record["task"], "bodies", each


def read_questions(mirrors: Path, work: Path) -> list[Question]:
    """Return the tasks of the pools of programs that were recorded."""
    paths = {each: work / f"{each}.jsonl" for each in ("codet", "humaneval")}
    samples, solved = (runs.read_runs(each) if each.exists() else [] for each in paths.values())
    texts = {name: each["prompt"] for name, each in read_humaneval(mirrors).items()}
    cut = {each.name: each.prompt.removeprefix(PRELUDE) for each in codet.read_tasks(mirrors, 1)}
    weak = evaluate.list_weak_models(solved)
    found = []
    for record in samples:
        name, members = record["task"], evaluate.list_members(record)
        found.append(Question(pool="codet", record=record, text=cut[name], members=members))
        passing = evaluate.keep_passing(record, members)
        found.append(Question(pool="examples", record=record, text=texts[name], members=passing))
    for record in solved:
        members = [place for place, name in enumerate(record["names"]) if name in weak]
        kept = evaluate.keep_suite(record, members)
        found.append(Question(pool="humaneval", record=record, text=texts[record["task"]], members=kept))
    return found


async def _ask_question(filler: Filler, kind: str, question: Question | lite.LiteTask) -> Any:
    if isinstance(question, lite.LiteTask):
        return await ask_changes(filler, question)
    groups = list_groups(question.record, question.members)[: GROUPS[kind]]
    return await (ask_results if kind == "results" else ask_bodies)(filler, question, groups)


async def ask_results(
    filler: Filler, question: Question, groups: Sequence[Group]
) -> list[tuple[int, Mapping[str, Told | None]]]:
    """Return the calls, each with what the model says of the results of the groups, by their keys."""
    record = question.record
    rows = [record["keys"][each.members[0]] for each in groups]
    truths = any(word in question.text for word in ("True", "False", "bool"))
    found = []
    for number in choose_calls(record, rows):
        keys = list(dict.fromkeys(row[number] for row in rows if has_value(row[number])))
        prefix = (
            f"{question.text.rstrip()}\n    pass\n\n\n"
            f"# check the correctness of {record['function']}\n"
            f"assert {format_call(record['function'], record['calls'][number])} == "
        )
        told = {
            key: await filler.measure_probability(
                Gap(
                    prefix=prefix,
                    suffix="\n",
                    forced=format_result(key, truths),
                    tokens=MOST_TOKENS,
                    stop=(),
                )
            )
            for key in keys
        }
        found.append((number, told))
    return found


def choose_calls(record: evaluate.Record, rows: Sequence[Sequence[str]]) -> list[int]:
    """Return few short calls that tell groups apart, rather those of tests than generated ones. rows: keys by group"""
    pairs = list(itertools.combinations(range(len(rows)), 2))
    apart = dict.fromkeys(pairs, 0)
    chosen: list[int] = []
    usable = [
        number
        for number, call in enumerate(record["calls"])
        if len(call) <= LONGEST_CALL
        and len({row[number] for row in rows if has_value(row[number])}) > 1
        and all(is_short_value(row[number]) for row in rows if has_value(row[number]))
    ]

    def rate_call(number: int) -> tuple[float, int]:
        gain = sum(
            1 / (1 + apart[one, other]) for one, other in pairs if rows[one][number] != rows[other][number]
        )
        return gain * (1.0 if number < record["seeds"] else 0.5), -len(record["calls"][number])

    while len(chosen) < CALLS and (left := [each for each in usable if each not in chosen]):
        best = max(left, key=rate_call)
        chosen.append(best)
        for one, other in pairs:
            apart[one, other] += rows[one][best] != rows[other][best]
    return chosen


def is_short_value(key: str) -> bool:
    """Return whether the value of a key can be written in a test."""
    text = format_key(key)
    try:
        ast.literal_eval(text)
    except (SyntaxError, ValueError):  # an object, or cut
        return False
    return len(text) <= LONGEST_RESULT


def format_call(function: str, call: str) -> str:
    """Return the expression of a call."""
    positional, named = ast.literal_eval(call)
    given = [*map(repr, positional), *(f"{name}={value!r}" for name, value in named.items())]
    return f"{function}({', '.join(given)})"


def format_result(key: str, truths: bool) -> str:
    """Return a result as it is written in a test. truths: 0 and 1 are False and True, which have the same keys"""
    text = format_key(key)
    return {"0": "False", "1": "True"}.get(text, text) if truths else text


async def ask_bodies(filler: Filler, question: Question, groups: Sequence[Group]) -> dict[int, Told | None]:
    """Return what the model says of the shortest program of each group, by its number."""
    found = {}
    for group in groups:
        member = min(group.members, key=lambda each: len(question.record["sources"][each]))
        body = find_body(question.record["sources"][member], question.record["function"])
        end = body.rfind("\n", 0, LONGEST_BODY) if len(body) > LONGEST_BODY else len(body)
        gap = Gap(
            prefix=question.text.rstrip() + "\n    ",
            suffix=body[end:] or "\n",
            forced=body[:end],
            tokens=MOST_TOKENS,
            stop=(),
        )
        found[member] = await filler.measure_probability(gap) if body[:end].strip() else None
    return found


def find_body(source: str, function: str) -> str:
    """Return the text of a function's body without its docstring; "" if it is not found."""
    try:
        nodes = [
            each
            for each in ast.walk(ast.parse(source))
            if isinstance(each, ast.FunctionDef) and each.name == function
        ]
    except SyntaxError:
        return ""
    if not nodes:
        return ""
    statements = (
        nodes[-1].body[1:] if ast.get_docstring(nodes[-1], clean=False) is not None else nodes[-1].body
    )
    if not statements:
        return ""
    lines = source.splitlines()[statements[0].lineno - 1 : statements[-1].end_lineno]
    return "\n".join(lines).strip()


async def ask_changes(filler: Filler, task: lite.LiteTask) -> dict[int, tuple[Told | None, Told | None]]:
    """Return what the model says of new and old lines of the leading patches, by their number."""
    scores = [each.score for each in lite.measure_task(task)]
    found: dict[int, tuple[Told | None, Told | None]] = {}
    known: dict[LineChange, tuple[Told | None, Told | None]] = {}
    for place in sorted(range(len(scores)), key=lambda each: -scores[each]):
        change = find_first_change(task.patches[place])
        if change is None or (len(known) == PATCHES and change not in known):
            continue
        if change not in known:
            told = []
            for text in (change.new, change.old):
                gap = Gap(
                    prefix=change.before,
                    suffix=change.after,
                    forced=text,
                    beside=[("issue.md", task.issue)],
                    tokens=MOST_TOKENS,
                    stop=(),
                )
                told.append(await filler.measure_probability(gap))
            known[change] = (told[0], told[1])
        found[place] = known[change]
    return found


def find_first_change(patch: str) -> LineChange | None:
    """Return the first change of lines that are no test's and few enough to be asked about."""
    for file in parse_diff(patch):
        if not file.old or is_test_file(file.new or file.old):
            continue
        for hunk in file.hunks:
            change = find_line_change(_join_lines(hunk, " -"), _join_lines(hunk, " +"))
            if change is not None:
                return change
    return None


def _join_lines(hunk: Hunk, signs: str) -> str:
    return "\n".join(line.text for line in hunk.lines if line.sign in signs)


def collect_told(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return what is told of each pool and task, by kind."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for each in read_told(path):
        found.setdefault((each["pool"], each["task"]), {})[each["kind"]] = each["told"]
    return found


def measure_witness(
    record: evaluate.Record, groups: Sequence[Group], told: Mapping[str, Any]
) -> list[dict[str, float]]:
    """Return the signs `results` and `bodies` of each group, 0 for all where nothing was asked. told: by kind"""
    rows = [record["keys"][each.members[0]] for each in groups]
    results, bodies = (
        rate_results(rows, told.get("results") or []),
        rate_bodies(groups, told.get("bodies") or {}),
    )
    return [{"results": one, "bodies": other} for one, other in zip(results, bodies, strict=True)]


def measure_changes(number: int, told: Mapping[str, Any]) -> list[float]:
    """Return for each of the patches how much likelier its new lines are than the old ones, by the mean token.

    One that was not asked about gets the least of those that were.
    """
    values = {}
    for place, (new, old) in told.items():
        if new is not None and old is not None:
            values[int(place)] = new[0] / new[1] - old[0] / old[1]
    if len(set(values.values())) < 2:
        return [0.0] * number
    return [values.get(each, min(values.values())) for each in range(number)]


def rate_results(
    rows: Sequence[Sequence[str]], told: Sequence[tuple[int, Mapping[str, Told | None]]]
) -> list[float]:
    """Return for each group the mean logarithm of its results' shares of the probability, over the calls."""
    totals = [0.0] * len(rows)
    count = 0
    for number, by_key in told:
        values = {key: each[0] for key, each in by_key.items() if each is not None}
        if len(values) < 2:
            continue
        count += 1
        top = max(values.values())
        shares = {key: math.exp(each - top) for key, each in values.items()}
        whole = sum(shares.values())
        for place, row in enumerate(rows):
            totals[place] += math.log(shares.get(row[number], 0.0) / whole + LEAST_SHARE)
    return [each / max(count, 1) for each in totals]


def rate_bodies(groups: Sequence[Group], told: Mapping[str, Told | None]) -> list[float]:
    """Return for each group the mean log-probability of its program's tokens, relative to the best one's."""
    means = {int(member): each[0] / each[1] for member, each in told.items() if each is not None}
    own = [[means[each] for each in group.members if each in means] for group in groups]
    values = [each[0] for each in own if each]
    if len(values) < 2:
        return [0.0] * len(groups)
    return [(each[0] if each else min(values)) - max(values) for each in own]


if __name__ == "__main__":
    main()

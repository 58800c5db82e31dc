"""Fit how often each template is right: `python -m benchmarks.repair.fit [--clone CLONE] [--fixes FIXES.jsonl]`.

The programs are DebugBench's, of its development half alone, or small fixes of libraries (`coverage report --keep`),
whose projects stay on one side of the two folds.

The chance of a candidate is its priority's share of all candidates of its program; a program whose right change is
known says which of them had to win. Priors are scaled until templates win as often as they are expected to (iterative
scaling, Darroch & Ratcliff 1972), held back by a pseudo-count, for two hundred small programs are not the world.
Prints the table for `tools/repair/templates/weights.py`, and what it gains on programs that it was not fitted on.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import itertools
import json
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.repair.debugbench import PREAMBLE, SEMANTIC, half_of, records
from tools.repair.candidates import candidates
from tools.repair.localization import rank
from tools.repair.spectrum import Spectrum, Test
from tools.repair.templates import BUILTINS, Hints, Source
from tools.repair.templates.weights import WEIGHTS

# Candidates that are looked at; what comes later is not tried in time anyway.
MOST = 1500
# Wins that every template is given beforehand, as many as were expected of it; and how far a prior may move.
PSEUDO, LEAST, HIGHEST = 4.0, 0.6, 1.6
ROUNDS = 20
# Longer programs say no more and take longest.
LONGEST = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One faulty program.

    candidates: template, and priority without the template's weight; right: the places of those that are right
    """

    fold: int
    candidates: Sequence[tuple[str, float]]
    right: frozenset[int]


def main() -> None:
    """Read, fit, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.repair.fit", description=__doc__)
    parser.add_argument("--clone", type=Path, help="where DebugBench was cloned")
    parser.add_argument("--fixes", type=Path, help="what `benchmarks.repair.coverage report --keep` wrote")
    parser.add_argument("--first", type=int, default=None, help="only so many programs")
    options = parser.parse_args()
    programs = _fixes(options.fixes) if options.fixes else []
    if options.clone:
        programs += _small_programs(options.clone, options.first)
    for fold in (0, 1):
        train = [each for each in programs if each.fold != fold]
        test = [each for each in programs if each.fold == fold]
        _say(f"fold {fold}, not fitted", test, {})
        _say(f"fold {fold}, fitted on the other", test, fitted(train))
    print("\nWEIGHTS: dict[str, float] = {")
    for name, weight in sorted(fitted(programs).items()):
        if abs(weight - 1) >= 0.05:
            print(f'    "{name}": {weight:.2f},')
    print("}")


def _fixes(path: Path) -> list[Program]:
    """Edits of small fixes, where the right candidate is among the first."""
    read = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    made = [
        Program(
            fold=each["fold"],
            candidates=[(name, priority / WEIGHTS.get(name, 1.0)) for name, priority in each["tried"]],
            right=frozenset({each["place"]}),
        )
        for each in read
        if each["tried"]
    ]
    print(f"{len(made)} edits whose right change is among the candidates, of {len(read)}")
    return made


def _small_programs(clone: Path, first: int | None) -> list[Program]:
    every = [record for kind in SEMANTIC for record in records(clone, kind)]
    development = [each for each in every if half_of(each["slug"]) == "development"]
    Random(0).shuffle(development)
    made = (_program(each) for each in development)
    programs = list(itertools.islice((each for each in made if each is not None), first))
    print(
        f"{len(programs)} programs whose right change is among the candidates, of {len(development)} records"
    )
    return programs


def fitted(programs: Sequence[Program]) -> dict[str, float]:
    """Template → what its prior is to be multiplied by."""
    names = {name for program in programs for name, _ in program.candidates}
    weights = dict.fromkeys(names, 1.0)
    wins: Counter[str] = Counter()
    for program in programs:
        won = [program.candidates[place][0] for place in sorted(program.right)]
        wins.update({name: 1 / len(won) for name in won} if len(set(won)) == len(won) else {won[0]: 1})
    for _ in range(ROUNDS):
        expected: Counter[str] = Counter()
        for program in programs:
            expected.update(_shares(program, weights))
        for name in names:
            step = (wins[name] + PSEUDO) / (expected[name] + PSEUDO * weights[name])
            weights[name] = min(HIGHEST, max(LEAST, weights[name] * math.sqrt(step)))
    return weights


def _shares(program: Program, weights: Mapping[str, float]) -> Counter[str]:
    """Template → the chance that one of its candidates is the right one."""
    found: Counter[str] = Counter()
    for name, priority in program.candidates:
        found[name] += priority * weights.get(name, 1.0)  # type: ignore[assignment]
    whole = sum(found.values())
    return Counter({name: value / whole for name, value in found.items()})  # type: ignore[misc]


def _say(title: str, programs: Iterable[Program], weights: Mapping[str, float]) -> None:
    ranks, logs = [], []
    for program in programs:
        scores = [priority * weights.get(name, 1.0) for name, priority in program.candidates]
        best = max(scores[place] for place in program.right)
        ranks.append(sum(score > best for score in scores))
        logs.append(math.log(best / sum(scores)))
    tenth = statistics.quantiles(ranks, n=10)[8]
    print(
        f"{title}: right change at rank {statistics.median(ranks):.0f} (median), {statistics.mean(ranks):.0f} (mean), "
        f"{tenth:.0f} (90 %); log likelihood {statistics.mean(logs):.3f}"
    )


def _program(record: Mapping[str, Any]) -> Program | None:
    buggy, right = (
        "\n".join(record[name].split("\n")).strip("\n") + "\n" for name in ("buggy_code", "oracle_code")
    )
    head = "from typing import *\n"
    try:
        source, wanted = Source("a.py", head + buggy), ast.dump(ast.parse(head + right))
    except SyntaxError:  # the data set has programs for other interpreters
        return None
    lines = frozenset(node.lineno for node in source.statements if node.lineno > 1)
    if len(lines) > LONGEST:
        return None
    sources = {"a.py": source}
    failing = [Test(index=0, id="t", file="t.py", standing="failed", lines={"a.py": lines})]
    suspects = rank(sources, failing, Spectrum(tests=failing, imported={}, complete=True))
    every = list(itertools.islice(candidates(suspects, sources, _hints(source)), MOST))
    changed = _changed_lines(source.text, head + right)
    correct = frozenset(
        place
        for place, each in enumerate(every)
        if source.text.count("\n", 0, each.change.start) + 1 in changed
        and _means(source.text, each.change, wanted)
    )
    if not correct:
        return None
    return Program(
        fold=sha256(record["slug"].encode()).digest()[1] % 2,
        candidates=[(each.template, each.priority / WEIGHTS.get(each.template, 1.0)) for each in every],
        right=correct,
    )


def _hints(source: Source) -> Hints:
    """The names of which Python would say that they are bound nowhere."""
    namespace: dict[str, Any] = {}
    exec(PREAMBLE, namespace)
    read = {n.id for n in ast.walk(source.tree) if isinstance(n, ast.Name)}
    bound = {n.id for n in ast.walk(source.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    bound |= {n.arg for n in ast.walk(source.tree) if isinstance(n, ast.arg)} | set(source.module_names)
    bound |= {function.name for function in source.functions}
    return Hints(missing_names=frozenset(read - bound - namespace.keys() - BUILTINS))


def _changed_lines(before: str, after: str) -> set[int]:
    one, other = ([line.split("#")[0].strip() for line in text.split("\n")] for text in (before, after))
    found: set[int] = set()
    for tag, start, end, _, _ in difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag != "equal":
            found.update(
                range(start, end + 2)
            )  # lines count from one; an insertion may be said of either side
    return found


def _means(text: str, change: Any, wanted: str) -> bool:
    try:
        return ast.dump(ast.parse(text[: change.start] + change.text + text[change.end :])) == wanted
    except SyntaxError:
        return False


if __name__ == "__main__":
    main()

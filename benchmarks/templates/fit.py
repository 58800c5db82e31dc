"""Fit how likely changes are: `python -m benchmarks.templates.fit [--clone CLONE] [--fixes FIXES.jsonl]`.

The programs are DebugBench's, of its development half alone, and small fixes of libraries (`coverage report --keep`),
whose projects stay on one side of the two folds.

The chance of a candidate is its priority's share of all candidates of its program; a program whose right change is
known says which of them had to win. The logarithm of a priority is that of the template's prior, its weight, and what
the change's traits add: a conditional logit (McFadden 1974), fitted by stochastic gradients with steps of their own
for each weight (AdaGrad, Duchi et al. 2011) and held back by squares, for some hundred programs are not the world.
Prints the tables for `packages/offline/repair/templates/support/weights.py`, and their gain outside the fit.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import itertools
import json
import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from operator import mul
from pathlib import Path
from random import Random
from typing import Any

from packages.evaluation.suites.programs.debugbench import PREAMBLE, SEMANTIC
from packages.offline.repair.engine.candidates.candidate_generation import generate_candidates
from packages.offline.repair.engine.candidates.likelihood import Traits
from packages.offline.repair.localize.coverage_spectrum import Spectrum, Test
from packages.offline.repair.localize.statement_ranking import rank_statements
from packages.offline.repair.templates import BUILTINS, TEMPLATES, Hints, Source
from packages.offline.repair.templates.support.weights import TRAITS, WEIGHTS

# Candidates that are looked at; what comes later is not tried in time anyway.
MOST = 1500
# How far templates' weights and those of traits are held back, by half their squares; turns over all programs.
HELD_TEMPLATES, HELD_TRAITS, ROUNDS, STEP = 1.5, 1.0, 25, 0.2
# Chances that are too small to move anything.
LEAST = 1e-6
# Longer programs say no more and take longest.
LONGEST = 40
# Logarithms of the priors that are written beside the templates.
PRIORS = {each.name: math.log(each.prior) for each in TEMPLATES}


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One faulty program.

    candidates: template, logarithm of the template's prior as it is written, traits; right: the places of those that
        are right
    """

    fold: int
    candidates: Sequence[tuple[str, float, Traits]]
    right: frozenset[int]


@dataclass(slots=True)
class Weights:
    """What is added to the logarithm of a prior: for the template, and for each unit of each trait."""

    templates: dict[str, float]
    traits: list[float]

    def scores(self, program: Program) -> list[float]:
        templates, ours = self.templates, self.traits
        return [
            prior + templates.get(name, 0.0) + sum(map(mul, ours, known))
            for name, prior, known in program.candidates
        ]


def _read_records(clone: Path, kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((clone / "benchmark" / f"python3_{kind}.json").read_text())
    return found


def _is_of_development(slug: str) -> bool:
    return bool(sha256(slug.encode()).digest()[0] % 2)


def main() -> None:
    """Read, fit, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.templates.fit", description=__doc__)
    parser.add_argument("--clone", type=Path, help="where DebugBench was cloned")
    parser.add_argument("--fixes", type=Path, help="what `benchmarks.templates.coverage report --keep` wrote")
    parser.add_argument("--first", type=int, default=None, help="only so many programs")
    options = parser.parse_args()
    programs = _fixes(options.fixes) if options.fixes else []
    if options.clone:
        programs += _small_programs(options.clone, options.first)
    for fold in (0, 1):
        train = [each for each in programs if each.fold != fold]
        test = [each for each in programs if each.fold == fold]
        _say(f"fold {fold}, not fitted", test, Weights({}, [0.0] * len(TRAITS)))
        _say(f"fold {fold}, as it is", test, Weights(_logarithms(WEIGHTS), list(TRAITS.values())))
        _say(f"fold {fold}, fitted on the other", test, fitted(train))
    _print(fitted(programs), programs)


def _print(found: Weights, programs: Iterable[Program]) -> None:
    print("\nWEIGHTS: dict[str, float] = {")
    for name, weight in sorted(found.templates.items()):
        if abs(weight) >= 0.05:
            print(f'    "{name}": {math.exp(weight):.2f},')
    print("}\n\nTRAITS: dict[str, float] = {")
    for name, weight in zip(TRAITS, found.traits, strict=True):
        print(f'    "{name}": {weight:.2f},')
    right = [program.candidates[min(program.right)][2] for program in programs]
    usual = statistics.median(sum(map(mul, found.traits, each)) for each in right)
    print(f"}}\n\nUSUAL = {usual:.2f}")


def _fixes(path: Path) -> list[Program]:
    """Edits of small fixes, where the right candidate is among the first."""
    made, number = [], 0
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            each = json.loads(line)
            number += 1
            if each["tried"]:
                written = [(name, PRIORS.get(name, 0.0), tuple(known)) for name, known in each["tried"]]
                made.append(Program(fold=each["fold"], candidates=written, right=frozenset({each["place"]})))
    print(f"{len(made)} edits whose right change is among the candidates, of {number}")
    return made


def _small_programs(clone: Path, first: int | None) -> list[Program]:
    every = [record for kind in SEMANTIC for record in _read_records(clone, kind)]
    development = [each for each in every if _is_of_development(each["slug"])]
    Random(0).shuffle(development)
    made = (_program(each) for each in development)
    programs = list(itertools.islice((each for each in made if each is not None), first))
    print(
        f"{len(programs)} programs whose right change is among the candidates, of {len(development)} records"
    )
    return programs


def fitted(programs: Sequence[Program]) -> Weights:
    """The weights that make what is right likeliest."""
    found = Weights({}, [0.0] * len(TRAITS))
    squares: dict[str | int, float] = defaultdict(float)
    dice = Random(0)
    order = list(programs)
    for _ in range(ROUNDS):
        dice.shuffle(order)
        for program in order:
            slopes = _slopes(program, found)
            for name, slope in slopes.items():
                template = isinstance(name, str)
                weight = found.templates.get(name, 0.0) if isinstance(name, str) else found.traits[name]
                slope -= (HELD_TEMPLATES if template else HELD_TRAITS) * weight / len(order)
                squares[name] += slope * slope
                weight += STEP * slope / math.sqrt(squares[name] + 1e-9)
                if isinstance(name, str):
                    found.templates[name] = weight
                else:
                    found.traits[name] = weight
    return found


def _slopes(program: Program, weights: Weights) -> dict[str | int, float]:
    """What more of a weight, of a template or of a trait by its place, adds to the logarithm of the right chance."""
    scores = weights.scores(program)
    top = max(scores)
    raised = [math.exp(score - top) for score in scores]
    whole, won = sum(raised), sum(raised[place] for place in program.right)
    slopes: dict[str | int, float] = defaultdict(float)
    for place, value in enumerate(raised):
        share = (value / won if place in program.right else 0.0) - value / whole
        if abs(share) > LEAST:
            name, _, known = program.candidates[place]
            slopes[name] += share
            for number, trait in enumerate(known):
                if trait:
                    slopes[number] += share * trait
    return slopes


def _logarithms(weights: Mapping[str, float]) -> dict[str, float]:
    return {name: math.log(weight) for name, weight in weights.items()}


def _say(title: str, programs: Iterable[Program], weights: Weights) -> None:
    ranks, logs = [], []
    for program in programs:
        scores = weights.scores(program)
        best = max(scores[place] for place in program.right)
        ranks.append(sum(score > best for score in scores))
        top = max(scores)
        logs.append(best - top - math.log(sum(math.exp(score - top) for score in scores)))
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
    suspects = rank_statements(sources, failing, Spectrum(tests=failing, imported={}, complete=True))
    every = list(itertools.islice(generate_candidates(suspects, sources, _hints(source), fitted=True), MOST))
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
        candidates=[
            (each.template, PRIORS[each.template] + math.log(each.suspect.score), each.traits)
            for each in every
        ],
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

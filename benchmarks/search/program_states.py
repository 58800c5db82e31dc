"""Programs with two or three faults and all states between the faulty and the right text, each run once.

The programs are DebugBench's, development half: the double and triple ones, and single faults of one program put
together. Their tests are made of the published examples and of inputs changed from these; twelve are visible to a
search, twelve more are hidden. A state is a set of changes: hunks that lead to the right program, and wrong ones of the
offline engine's templates. One process per program in the sandbox runs the states as they are asked for; the answers
are kept on disk by the text and the inputs, so that another run takes seconds.
"""

from __future__ import annotations

import asyncio
import difflib
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import combinations, islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from benchmarks.verification.pools import find_repository, read_blob
from packages.evaluation.suites.built_task import compute_half, make_task_name
from packages.evaluation.suites.programs import debugbench
from packages.evaluation.suites.programs.program_answers import JUDGE, agree_all
from packages.evaluation.suites.programs.varied_inputs import vary_arguments
from packages.offline.repair.engine.candidates.candidate_generation import generate_candidates
from packages.offline.repair.localize.statement_ranking import Suspect
from packages.offline.repair.templates.support.source_tree import Source
from packages.offline.repair.templates.support.template_site import Hints
from sandbox.process.command_line import CommandLine
from tools.shell.server_pipes import ServerGone, ServerPipes

if TYPE_CHECKING:
    from tools.core.workspace import Workspace

WORKER = Path(__file__).with_name("state_worker.py")

Moves = frozenset[tuple[str, int]]
"""Changes of a state: ("right" or "wrong", place in the list of these)."""

Hunk = tuple[int, int, tuple[str, ...]]
"""First line, line after the last, and the lines in their place."""

SEVERAL, ONE = (2, 3, 4), (1,)
"""Numbers of hunks of a program with several faults, or with one."""

SECONDS = 0.1
"""Of a processor for one call; the right programs answer their inputs within a twentieth of it."""

PATIENCE = 60.0
"""Wall seconds for one state on a busy machine."""

VISIBLE, HIDDEN = 12, 12

MOST_WRONG = 12
"""Template changes of a program among which the author errs."""

LIKELY = 200
"""Likeliest template changes, of which those are drawn."""

MOST_LINE = 64 << 20
"""Bytes of the answers of one state."""


@dataclass(slots=True, kw_only=True)
class StateRunner:
    """Runs texts of one program on inputs, in one process of the sandbox that starts with the first unknown text."""

    at: Workspace
    entry: str
    inputs: Sequence[Any]
    cache: Path
    _known: dict[str, list[Any]] = field(default_factory=dict)
    _new: int = 0
    _pipes: ServerPipes | None = None

    def __post_init__(self) -> None:
        if self._path.is_file():
            self._known = json.loads(self._path.read_text("utf-8"))

    @property
    def _path(self) -> Path:
        about = json.dumps([self.entry, self.inputs, SECONDS])
        return self.cache / f"{sha256(about.encode()).hexdigest()[:32]}.json"

    async def run(self, text: str) -> list[Any]:
        """Return the answers of a text, from the cache if it ran before."""
        key = sha256(text.encode()).hexdigest()[:32]
        if key not in self._known:
            found = await self._ask(text)
            self._known[key] = found + [{"error": "died"}] * (len(self.inputs) - len(found))
            self._new += 1
        return self._known[key]

    async def close(self) -> None:
        """End the process, and keep its answers."""
        if self._pipes is not None:
            await self._pipes.close()
            self._pipes = None
        if self._new:
            self.cache.mkdir(parents=True, exist_ok=True)
            part = self._path.with_suffix(f".{os.getpid()}")
            part.write_text(json.dumps(self._known), "utf-8")
            part.replace(self._path)

    async def _ask(self, text: str) -> list[Any]:
        try:
            if self._pipes is None or not self._pipes.is_running:
                await self._start()
            assert self._pipes is not None
            self._pipes.write(json.dumps({"text": text}).encode() + b"\n")
            async with asyncio.timeout(PATIENCE):
                line = await self._pipes.reader.readline()
            found = json.loads(line)
        except (
            ServerGone,
            TimeoutError,
            ValueError,
        ) as gone:  # ValueError: no answer, or a line without an end
            print(f"a state was given up: {gone}", file=sys.stderr)
            if self._pipes is not None:
                await self._pipes.close()
                self._pipes = None
            return []
        return found if isinstance(found, list) else []

    async def _start(self) -> None:
        self._pipes = ServerPipes(self.at, MOST_LINE, lambda why: None)
        argv = (sys.executable, "-I", "-B", str(WORKER), str(JUDGE))
        await self._pipes.start(
            CommandLine(argv=argv, environment={"PYTHONHASHSEED": "0"}, readable=(WORKER, JUDGE))
        )
        task = {"entry": self.entry, "inputs": list(self.inputs), "seconds": SECONDS}
        self._pipes.write(json.dumps(task).encode() + b"\n")


@dataclass(slots=True, kw_only=True)
class World:
    """One program: its hunks from the faulty to the right text, wrong changes, and tests.

    problem: digest of its name; expected: answers of the right program, to the visible inputs first
    """

    name: str
    problem: str
    runner: StateRunner
    faulty: Sequence[str]
    hunks: Sequence[Hunk]
    wrong: Sequence[Hunk]
    expected: Sequence[Any]
    _known: dict[Moves, list[tuple[bool, str]]] = field(default_factory=dict)

    def add_move(self, moves: Moves, move: tuple[str, int]) -> Moves:
        """Return a state with one more change, which replaces those of the same lines."""
        new = self._get_hunk(move)
        return frozenset(each for each in moves if not share_lines(self._get_hunk(each), new)) | {move}

    def build_text(self, moves: Moves) -> str:
        """Return the text of a state."""
        lines = list(self.faulty)
        for first, last, new in sorted(map(self._get_hunk, moves), reverse=True):
            lines[first:last] = new
        return "".join(lines)

    async def run_tests(self, moves: Moves) -> list[tuple[bool, str]]:
        """Return whether each test passes in a state, with its message."""
        if moves not in self._known:
            found = await self.runner.run(self.build_text(moves))
            self._known[moves] = [
                (agree_all([{"value": want}], [got]), repr(got)[:200])
                for want, got in zip(self.expected, found, strict=True)
            ]
        return self._known[moves]

    async def passes(self, moves: Moves) -> bool:
        """Return whether all visible tests pass in a state."""
        return all(passed for passed, _ in (await self.run_tests(moves))[:VISIBLE])

    async def is_right(self, moves: Moves) -> bool:
        """Return whether the hidden tests pass, too."""
        return all(passed for passed, _ in await self.run_tests(moves))

    async def build_report(self, moves: Moves) -> dict[str, Any]:
        """Return the visible tests' report as a suite gives it."""
        found = (await self.run_tests(moves))[:VISIBLE]
        failures = [
            {"id": f"test_{place}", "file": "test_solution.py", "message": f"assert {message}"}
            for place, (passed, message) in enumerate(found)
            if not passed
        ]
        passed = len(found) - len(failures)
        return {"outcome": "failed" if failures else "passed", "passed": passed, "failures": failures}

    async def shows_progress(self) -> bool:
        """Return whether a right hunk alone mends a visible test and breaks none."""
        before = {each["id"] for each in (await self.build_report(frozenset()))["failures"]}
        for place in range(len(self.hunks)):
            alone = await self.build_report(frozenset({("right", place)}))
            if {each["id"] for each in alone["failures"]} < before:
                return True
        return False

    def _get_hunk(self, move: tuple[str, int]) -> Hunk:
        return (self.hunks if move[0] == "right" else self.wrong)[move[1]]


async def read_worlds(
    at: Workspace, mirrors: Path, cache: Path, number: int, hunks: Sequence[int] = SEVERAL
) -> AsyncIterator[World]:
    """Yield programs of the development half that tests tell from the right one. hunks: how many lead to it"""
    repository = find_repository(mirrors, "thunlp/DebugBench")
    for record in read_records(repository) if hunks == SEVERAL else read_single_records(repository):
        if number and (world := await build_world(at, record, cache, hunks)) is not None:
            yield world
            number -= 1


def read_records(repository: Path) -> list[dict[str, Any]]:
    """Return records of the development half with several faults, in a random order.

    They are the double and triple ones, and single faults of one right program put together.
    """
    records = [each for kind in ("double", "triple") for each in _read_development(repository, kind)]
    single: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for kind in debugbench.SEMANTIC:
        for each in _read_development(repository, kind):
            single.setdefault((each["slug"], each["oracle_code"].strip("\n")), []).append(each)
    for group in single.values():
        for size in (2, 3):
            records += filter(None, (_compose_record(each) for each in combinations(group, size)))
    Random(0).shuffle(records)
    return records


def read_single_records(repository: Path) -> list[dict[str, Any]]:
    """Return one record of the development half with a single fault of each problem, in a random order."""
    records = [each for kind in debugbench.SEMANTIC for each in _read_development(repository, kind)]
    Random(0).shuffle(records)
    return list({each["slug"]: each for each in records}.values())


def _read_development(repository: Path, kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(read_blob(repository, f"benchmark/python3_{kind}.json"))
    return [each for each in found if compute_half(each["slug"]) == "development"]


def _compose_record(single: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return a record with the faults of several of the same right program; None where they share lines."""
    right = (single[0]["oracle_code"].strip("\n") + "\n").splitlines(keepends=True)
    hunks = [
        hunk
        for each in single
        for hunk in list_hunks(right, (each["buggy_code"].strip("\n") + "\n").splitlines(keepends=True))
    ]
    if any(share_lines(one, other) for one, other in combinations(hunks, 2)):
        return None
    lines = list(right)
    for first, last, new in sorted(hunks, reverse=True):
        lines[first:last] = new
    return {**single[0], "buggy_code": "".join(lines)}


async def build_world(
    at: Workspace, record: Mapping[str, Any], cache: Path, sizes: Sequence[int] = SEVERAL
) -> World | None:
    """Return the world of one record; None where its hunks are not so many, or no test shows its faults."""
    program = debugbench._read_program("multiple", record)
    if program is None:
        return None
    faulty, right = program.buggy.splitlines(keepends=True), program.right.splitlines(keepends=True)
    hunks = list_hunks(faulty, right)
    if len(hunks) not in sizes:
        return None
    name = make_task_name(record["slug"], debugbench._digest(record["buggy_code"]))
    draw = Random(name)
    made = [vary_arguments(draw, program.inputs) for _ in range(90)]
    inputs = list({json.dumps(each): each for each in [*program.inputs, *made]}.values())
    asked = StateRunner(at=at, entry=program.entry, inputs=inputs, cache=cache)
    try:
        said = await asked.run(program.right)
    finally:
        await asked.close()
    useful = [(one, each["value"]) for one, each in zip(inputs, said, strict=True) if "value" in each]
    if len(useful) < VISIBLE + HIDDEN:
        return None
    chosen = useful[: VISIBLE + HIDDEN]
    world = World(
        name=name,
        problem=sha256(str(record["slug"]).encode()).hexdigest()[:8],
        runner=StateRunner(at=at, entry=program.entry, inputs=[one for one, _ in chosen], cache=cache),
        faulty=faulty,
        hunks=hunks,
        wrong=_draw_wrong_changes(program.buggy, hunks, draw),
        expected=[value for _, value in chosen],
    )
    whole = frozenset(("right", place) for place in range(len(hunks)))
    parts = [frozenset[tuple[str, int]](), *(frozenset({each}) for each in whole if len(whole) > 1)]
    is_usable = bool(world.wrong) and await world.is_right(whole)
    if is_usable and not any([await world.passes(each) for each in parts]):
        return world
    await world.runner.close()
    return None


def list_hunks(old: Sequence[str], new: Sequence[str]) -> list[Hunk]:
    """Return the changes between two texts, as small as whole lines allow."""
    found: list[Hunk] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "replace" and b - a == d - c:
            found += [(a + each, a + each + 1, (new[c + each],)) for each in range(b - a)]
        elif tag != "equal":
            found.append((a, b, tuple(new[c:d])))
    return found


def share_lines(one: Hunk, other: Hunk) -> bool:
    """Return whether two changes of one text concern the same lines."""
    (a, b, _), (c, d, _) = one, other
    return (a < d and c < b) or (a, b) == (c, d)


def _draw_wrong_changes(text: str, hunks: Sequence[Hunk], draw: Random) -> list[Hunk]:
    likely = list(dict.fromkeys(islice(_list_template_changes(text), LIKELY)))
    wrong = [each for each in likely if each not in hunks]
    return draw.sample(wrong, min(MOST_WRONG, len(wrong)))


def _list_template_changes(text: str) -> Iterator[Hunk]:
    """Yield changes of whole lines that the offline engine's templates make."""
    source = Source("solution.py", text)
    suspects = [
        Suspect(
            path="solution.py",
            line=each.lineno,
            end_line=each.end_lineno or each.lineno,
            function="",
            code="",
            score=1.0,
            failing=1,
            passing=0,
            statement=each,
        )
        for each in source.statements
        if each.col_offset > 4
    ]
    lines = text.splitlines(keepends=True)
    for each in generate_candidates(suspects, {"solution.py": source}, Hints()):
        new = text[: each.change.start] + each.change.text + text[each.change.end :]
        if len(hunks := list_hunks(lines, new.splitlines(keepends=True))) == 1:
            yield hunks[0]

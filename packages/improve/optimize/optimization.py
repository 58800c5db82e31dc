"""`patchwright optimize` as the work of one turn: profile, search, and the best version written as an action."""

from __future__ import annotations

import ast
import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from agent.children.children import Children
from agent.events import BY_STRATEGY, MessageEvent
from agent.monitor.answers import TurnEnd
from agent.turn.runtime import Runtime
from packages.improve.optimize.equivalence import LIMITS, Equivalence
from packages.improve.optimize.honesty import find_deceit
from packages.improve.optimize.measurement import Goal, Measurement, PairedRuns
from packages.improve.optimize.model_proposals import ModelAuthor, fill_hot_lines
from packages.improve.optimize.search import Claim, Search
from packages.improve.optimize.target_profile import TargetProfile, profile_target
from packages.improve.rewrites.rewrite import Rewrite
from packages.improve.rewrites.rewrite_scope import iter_scopes
from packages.improve.rewrites.rewrite_table import list_rewrites
from packages.improve.rewrites.ruff_fixes import list_ruff_rewrites
from packages.offline.infill.filler import FILLER, has_filler
from packages.offline.repair.templates.support.source_tree import Source
from packages.search.microsteps.step_actions import create_step_actions
from packages.search.programs.program_runner import ProgramRunner
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from tools.core.text import split_lines
from tools.core.workspace import Workspace
from tools.testing.project_copies import ProjectCopy, TooLarge, create_copies
from tools.testing.project_files import Project
from tools.testing.python import find_test_python
from tools.testing.report import TestReport
from tools.testing.run_comparison import describe_loss
from tools.testing.suite_run import run_copy

NAME = "optimize"


@dataclass(slots=True, kw_only=True)
class Optimization:
    """An optimization as the work of one turn. Implements `TurnWork`.

    path, function: of the target, relative to the root; "" for all functions of the file
    metric: command; goal: which of its values are better; seconds: of the search
    """

    runtime: Runtime
    path: str
    function: str
    metric: str
    goal: Goal
    seconds: float
    tell: Callable[[str], None]
    takes_advice: bool = False
    search: Search | None = None
    claim: Claim | None = None
    compared: int = 0
    runs: int = 0
    asked: int = 0
    _suite: TestReport | None = field(default=None)

    @property
    def settings(self) -> Mapping[str, Any]:
        """See `TurnWork.settings`."""
        return {"name": NAME, "target": self.path, "function": self.function, "metric": self.metric}

    async def run(self) -> TurnEnd:
        """See `TurnWork.run`."""
        at = self.runtime.workspace
        text = await asyncio.to_thread(read_target, at, self.path, self.function)
        try:
            async with create_copies(at, 2) as copies:
                await self._search(copies, text)
        except TooLarge as problem:
            raise UserError(Fault.USAGE, str(problem)) from None
        return await self._finish(text)

    async def _search(self, copies: Sequence[ProjectCopy], text: str) -> None:
        at = self.runtime.workspace
        base, trial = (each.at for each in copies)
        measurement = Measurement(
            original=at, base=base, trial=trial, path=self.path, command=self.metric, goal=self.goal
        )
        sample = await measurement.start()
        self.tell(
            f"metric: {sample.value:g}{'' if measurement.is_printed else ' s, the time of the command'}"
        )
        profile, found = await asyncio.gather(
            profile_target(measurement, text), find_test_python(at, Project(at))
        )
        python = found or sys.executable
        names = [scope.name for scope in iter_scopes(Source("", text))]
        functions = [self.function] if self.function else profile.choose_functions(names)
        self._tell_profile(profile, functions, text)
        equivalence = Equivalence(
            runner=ProgramRunner(
                sandbox=at.sandbox, folder=at.root, python=python, limits=LIMITS, exact=True
            ),
            base=base.root,
            trial=trial.root,
            path=self.path,
            source=text,
            calls={name: profile.calls.get(name, ()) for name in functions},
        )

        async def propose(parent: str) -> list[Rewrite]:
            table = list_rewrites(parent, functions)
            return [*table, *await list_ruff_rewrites(at.sandbox, at.root, python, parent, functions)]

        async def inspect(candidate: str) -> str:
            calls = [call for each in equivalence.calls.values() for call in each]
            return find_deceit(text, candidate, functions, calls)

        async def judge(candidate: str) -> str:
            return await self._compare(measurement, equivalence, text, candidate, held_out=False)

        async def approve(candidate: str) -> str:
            if found := await self._compare(measurement, equivalence, text, candidate, held_out=True):
                return found
            return await self._run_suite(measurement, equivalence, text, candidate)

        async def measure(candidate: str, runs: PairedRuns, pairs: int) -> None:
            measurement.write_candidate(candidate)
            for _ in range(max(pairs, 1)):
                if not await measurement.add_pair(runs, is_look=not pairs):
                    return

        hot = profile.list_hot_lines()
        lines = [line for line, _ in hot]
        fill = at.facts[FILLER].fill if lines and await has_filler(at, self.runtime.model) else None
        children = Children(self.runtime) if self.runtime.model.name != "offline" else None
        author = (
            ModelAuthor(
                runtime=self.runtime,
                children=children,
                measurement=measurement,
                functions=functions,
                hot="\n".join(f"{share:.0%} of the time in line {line}" for line, share in hot),
                tell=self.tell,
            )
            if children is not None
            else None
        )
        self.search = Search(
            propose=propose,
            author=author.write_version if author is not None else None,
            fill=(lambda original: fill_hot_lines(fill, original, lines)) if fill is not None else None,
            inspect=inspect,
            judge=judge,
            approve=approve,
            measure=measure,
            create_runs=lambda: PairedRuns(goal=self.goal),
            seconds=self.seconds,
            tell=self.tell,
        )
        try:
            self.claim = await self.search.run(text)
        finally:
            if children is not None:
                await children.close()
        self.compared, self.runs = equivalence.compared, measurement.runs
        self.asked = author.asked if author is not None else 0

    def _tell_profile(self, profile: TargetProfile, functions: Sequence[str], text: str) -> None:
        total = sum(profile.functions.values())
        if profile.problem:
            self.tell(f"no profile: {profile.problem}")
        for name in functions:
            if total:
                self.tell(f"profile: {profile.functions.get(name, 0) / total:.0%} in {name}")
        lines = split_lines(text)
        for line, share in profile.list_hot_lines():
            if line <= len(lines):
                self.tell(f"profile: {share:.0%} in line {line}: {lines[line - 1].strip()[:80]}")

    async def _compare(
        self, measurement: Measurement, equivalence: Equivalence, text: str, candidate: str, *, held_out: bool
    ) -> str:
        """Compare the changed functions whose calls were seen; "" where none was, which leaves it to the tests."""
        measurement.write_candidate(candidate)
        for name in list_changed(text, candidate):
            is_known = equivalence.can_compare(name)
            if is_known and (found := await equivalence.find_difference(name, held_out=held_out)):
                return found
        return ""

    async def _run_suite(
        self, measurement: Measurement, equivalence: Equivalence, text: str, candidate: str
    ) -> str:
        """Run the tests with a candidate, as far as there are any; say what is missing for a claim."""
        at = self.runtime.workspace
        seconds, denied = at.settings.tests.timeout, [at.root / self.path]
        if self._suite is None:
            self._suite = await run_copy(measurement.base, seconds, denied=denied)
        before = self._suite
        if before.outcome in ("no-runner", "no-tests", "unverified"):
            unseen = [each for each in list_changed(text, candidate) if not equivalence.can_compare(each)]
            return f"neither tests nor calls of {unseen[0]} say whether it is the same" if unseen else ""
        measurement.write_candidate(candidate)
        after = await run_copy(measurement.trial, seconds, denied=denied)
        return find_test_loss(before, after)

    async def _finish(self, before: str) -> TurnEnd:
        text, status = f"Nothing faster was confirmed for {self.path}", "nothing to do"
        if self.claim is not None:
            files = self.runtime.workspace.files
            if not files.has_file(self.path) or files.read(self.path) != before.encode():
                raise UserError(Fault.USAGE, f"{self.path!r} was changed meanwhile", "Run it again.")
            contents = {"before": before.encode(), "after": self.claim.candidate.text.encode()}
            self.runtime.toolbox.add(accepted=create_step_actions(contents.__getitem__))
            done = await self.runtime.run_harness_action(
                "set_file", {"path": self.path, "content": "after", "before": "before"}
            )
            if done.failed:
                raise UserError(Fault.USAGE, done.text)
            text, status = describe_claim(self.claim, self.path, self.function, self.compared), "done"
        return await end_turn(self.runtime, NAME, text, status)


async def end_turn(runtime: Runtime, name: str, text: str, status: str) -> TurnEnd:
    """End the turn of the work of that name with a text for the person."""
    await runtime.run_harness_action("finish", {"summary": "", "status": status})
    runtime.session.append(MessageEvent(text=text, model=f"{BY_STRATEGY}{name}"))
    return TurnEnd(reason="ended", text=text, is_checked=True)


def find_test_loss(before: TestReport, after: TestReport) -> str:
    """Return what the tests say against a change, "" if nothing."""
    known = {each.id for each in before.failures}
    if after.outcome != before.outcome or not {each.id for each in after.failures} <= known:
        return f"the tests fail with it: {after.failed + after.errors} of {after.collected}"
    return describe_loss(before.as_data(), after.as_data())


def describe_claim(claim: Claim, path: str, function: str, compared: int) -> str:
    """Return a claim as a commit's message: what is faster by how much, and by which evidence."""
    kinds = ", ".join(dict.fromkeys(each.partition(":")[0] for each in claim.candidate.rewrites))
    name = function or Path(path).name
    same = f"; {compared} inputs gave the same answers" if compared else ""
    return (
        f"Make {name} {claim.runs.gain:.1f} times faster\n\nBy: {kinds}.\n"
        f"The metric was better in {claim.runs.won} of {len(claim.runs.pairs)} pairs of runs{same}."
    )


def read_target(at: Workspace, path: str, function: str) -> str:
    """Return the target's text. Raises UserError if it is no Python file, or has no such function."""
    try:
        text = at.files.read(path).decode("utf-8")
        source = Source(path, text)
    except (OSError, ValueError, SyntaxError, RecursionError) as problem:
        raise UserError(Fault.USAGE, f"no Python file that can be read: {path!r}: {problem}") from None
    names = [scope.name for scope in iter_scopes(source)]
    if (function and function not in names) or not names:
        known = ", ".join(names[:10]) or "none"
        raise UserError(Fault.USAGE, f"no function {function!r} in {path}", f"Functions there: {known}.")
    return text


def list_changed(before: str, after: str) -> list[str]:
    """Return the qualified names of the functions whose code differs."""
    old = {scope.name: ast.dump(scope.function) for scope in iter_scopes(Source("", before))}
    new = {scope.name: ast.dump(scope.function) for scope in iter_scopes(Source("", after))}
    return [name for name, text in new.items() if old.get(name) != text]

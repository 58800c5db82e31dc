"""State machine of a reproduction: extract → locate → write → run → classify → minimise → confirm.

Code decides each transition; a model, if there is one, only writes drafts after those of the report.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field, replace

from packages.offline.reproduction.classification import (
    Failure,
    Rejection,
    classify_run,
    differs_from,
    has_same_result,
    list_called_places,
)
from packages.offline.reproduction.drafts import (
    Draft,
    add_test_calls,
    build_drafts,
    build_model_draft,
    find_star_imports,
    find_told_imports,
    find_undefined_names,
)
from packages.offline.reproduction.frameworks import Framework, add_tables, choose_framework
from packages.offline.reproduction.minimise import minimise_statements
from packages.offline.reproduction.mutants import MOST as MOST_MUTANTS
from packages.offline.reproduction.mutants import mutate_function
from packages.offline.reproduction.observation import RunFailed, RunSeen
from packages.offline.reproduction.probe_run import SEEDS, Job, ProbeRunner, find_packages
from packages.offline.reproduction.report.extract import extract_report
from packages.offline.reproduction.report.report_fields import Exchange, Report
from packages.offline.reproduction.result import Reproduction, State, Transition
from packages.offline.reproduction.script_text import render_script
from packages.offline.reproduction.suspicion import Suspicion, locate_report
from packages.offline.reproduction.told_checks import find_untold_expectation
from sandbox.fs.untrusted_file import read_workspace_text
from sandbox.lazy_dataclass import dataclass
from tools.core.workspace import Workspace

SECONDS = 240.0
"""Wall time for a reproduction by default."""

RUN_SECONDS = 120.0
"""Wall time of one run."""

SOURCE_SIZE = 2 << 20
"""Bytes of a file that is mutated."""

NEXT: Mapping[State, tuple[State, ...]] = {
    State.EXTRACT: (State.LOCATE, State.NOT_REPRODUCED),
    State.LOCATE: (State.WRITE, State.NOT_REPRODUCED),
    State.WRITE: (State.RUN, State.NOT_REPRODUCED),
    State.RUN: (State.CLASSIFY, State.WRITE, State.NOT_REPRODUCED),
    State.CLASSIFY: (State.MINIMISE, State.WRITE, State.NOT_REPRODUCED),
    State.MINIMISE: (State.CONFIRM,),
    State.CONFIRM: (State.REPRODUCED, State.WRITE, State.NOT_REPRODUCED),
}
"""Transitions that exist."""

WriteDraft = Callable[[Report, Suspicion, Sequence[Rejection]], Awaitable[str]]
"""A model's script for a report, after the drafts that were rejected; "" when it has no more."""


@dataclass(slots=True, kw_only=True)
class Machine:
    """One reproduction.

    write_draft: a model's; None works without one. uses_report: the report's own code is tried first
    wants_told: a model's expectations have to be in the report, since it is a small one
    settings_module: of a Django project
    """

    at: Workspace
    runner: ProbeRunner
    text: str
    write_draft: WriteDraft | None = None
    uses_report: bool = True
    wants_told: bool = False
    settings_module: str = ""
    seconds: float = SECONDS
    state: State = State.EXTRACT
    trail: list[Transition] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    report: Report = field(init=False)
    imports: dict[str, str] = field(default_factory=dict)
    suspicion: Suspicion = field(default_factory=Suspicion)

    async def run(self) -> Reproduction:
        """Run to an end state."""
        began = time.monotonic()
        self.report = extract_report(self.text)
        self.imports = find_told_imports(self.text)
        self.trail.append(Transition(state=State.EXTRACT, detail=_describe_report(self.report)))
        drafts = build_drafts(self.report) if self.uses_report else []
        if not drafts and self.write_draft is None:
            self._enter(State.NOT_REPRODUCED)
            return self._conclude(began, reason="the report holds no code that could be run")
        self._enter(State.LOCATE)
        names = list(dict.fromkeys(name for each in drafts for name in find_undefined_names(each.source)))
        self.suspicion = await asyncio.to_thread(
            locate_report,
            self.at.root,
            self.at.folders.shared or self.at.folders.cache,
            self.text,
            self.report,
            names,
        )
        written = 0
        while time.monotonic() - began < self.seconds:
            self._enter(State.WRITE)
            origin = "report"
            if drafts:
                draft = drafts.pop(0)
            else:
                source = (
                    await self.write_draft(self.report, self.suspicion, self.rejections)
                    if self.write_draft
                    else ""
                )
                if not source:
                    break
                origin, written = "model", written + 1
                draft = build_model_draft(source)
            found = await self._try_draft(draft, origin)
            if found is not None:
                return self._conclude(began, **found)
        is_late = time.monotonic() - began >= self.seconds
        self._enter(State.NOT_REPRODUCED)
        reason = f"the {self.seconds:.0f} s were over" if is_late else _choose_reason(self.rejections)
        return self._conclude(began, reason=reason)

    async def _try_draft(self, draft: Draft, origin: str) -> dict[str, object] | None:
        """Run, classify, minimise and confirm one draft; None if it is no reproduction."""
        self._enter(State.RUN, draft.origin)
        trial = Trial(machine=self, draft=draft)
        try:
            run = await trial.observe(trial.exchanges)
        except RunFailed as problem:
            return self._reject(Rejection(reason="environment", detail=str(problem)))
        self._enter(State.CLASSIFY)
        failure = classify_run(draft, trial.exchanges, self.report, run)
        if isinstance(failure, Rejection):
            return self._reject(failure)
        is_own = origin == "model" and self.wants_told and failure.kind == "assertion"
        if is_own and (untold := find_untold_expectation(draft.source, self.text)):
            return self._reject(Rejection(reason="not told", detail=f"the report does not tell {untold}"))
        rejection, places = await trial.check_failure(failure, run)
        if rejection is not None:
            return self._reject(rejection)
        self._enter(State.MINIMISE, failure.detail)
        exchanges, run, failure = await trial.minimise(failure, run)
        self._enter(State.CONFIRM)
        script = render_script(
            self.report.title,
            trial.framework.setup,
            run.imports,
            [each.source for each in exchanges],
            failure,
            lets_pass=self.report.wants_error,
        )
        done = await self.runner.run_script(script)
        if not is_told_failure(done.returncode, done.stdout.text(), failure):
            last = done.stdout.text().strip().splitlines()[-1:] or ["it passes"]
            return self._reject(Rejection(reason="not confirmed", detail=last[0][:200]))
        self._enter(State.REPRODUCED)
        return {
            "script": script, "failure": failure, "places": places, "origin": origin,
            "reason": failure.detail, "outcome": State.REPRODUCED,
        }  # fmt: skip

    def _reject(self, rejection: Rejection) -> dict[str, object] | None:
        self.rejections.append(rejection)
        return None

    def _enter(self, state: State, detail: str = "") -> None:
        if state is not self.state:
            assert state in NEXT[self.state], (self.state, state)
        self.state = state
        self.trail.append(Transition(state=state, detail=detail))

    def _conclude(self, began: float, **fields: object) -> Reproduction:
        base = Reproduction(
            outcome=self.state,
            report=self.report,
            suspects=tuple(self.suspicion.files),
            rejections=tuple(self.rejections),
            trail=tuple(self.trail),
            python=self.runner.python,
            runs=self.runner.runs,
            seconds=time.monotonic() - began,
        )
        return replace(base, **fields)  # type: ignore[arg-type]


@dataclass(slots=True)
class Trial:
    """One draft: its statements as they are run, and the checks of its failure."""

    machine: Machine
    draft: Draft
    framework: Framework = field(init=False)
    exchanges: list[Exchange] = field(init=False)

    def __post_init__(self) -> None:
        runner = self.machine.runner
        self.framework = choose_framework(runner.packages, self.draft.source, self.machine.settings_module)
        own = add_test_calls(self.draft.exchanges)
        self.exchanges = add_tables(own) if self.framework.has_tables else own

    async def observe(
        self, exchanges: Sequence[Exchange], seed: str = SEEDS[0], mutant: tuple[str, str] | None = None
    ) -> RunSeen:
        """Run some statements of the draft. Raises RunFailed."""
        source = "\n".join(each.source for each in exchanges)
        job = Job(
            statements=[each.source for each in exchanges],
            setup=self.framework.setup,
            names=find_undefined_names(source),
            stars=find_star_imports(source),
            known={**self.framework.known, **self.machine.imports},
            letters=self.framework.letters,
            places=self.machine.suspicion.places,
            mutant=mutant,
        )
        return await self.machine.runner.run_job(job, seed)

    async def check_failure(self, failure: Failure, run: RunSeen) -> tuple[Rejection | None, list[str]]:
        """Return why a failure does not count, None if it does; and the suspected functions that it runs."""
        try:
            others = [await self.observe(self.exchanges, seed) for seed in SEEDS[1:]]
        except RunFailed as problem:
            return Rejection(reason="not deterministic", detail=str(problem)), []
        if not has_same_result(failure, [run, *others]):
            return Rejection(reason="not deterministic"), []
        suspected = self.machine.suspicion.select_suspected(list_called_places(run, failure))
        if not suspected:
            return Rejection(reason="passes elsewhere", detail=failure.detail), []
        if not await self._notices_mutants(failure, run, suspected):
            return Rejection(reason="not sensitive", detail=failure.detail), []
        return None, [f"{path}:{line} {name}" for path, line, name in suspected]

    async def _notices_mutants(
        self, failure: Failure, run: RunSeen, suspected: Sequence[tuple[str, int, str]]
    ) -> bool:
        tried = 0
        root = self.machine.at.root.resolve()
        for path, line, name in suspected:
            text = await asyncio.to_thread(read_workspace_text, root, path, SOURCE_SIZE)
            for mutant in mutate_function(text, line, name):
                if tried >= MOST_MUTANTS:
                    return False
                tried += 1
                try:
                    other = await self.observe(self.exchanges, mutant=(str(root / path), mutant))
                except RunFailed:  # the mutant hangs, or the project cannot be imported with it
                    continue
                if other.setup_error is None and differs_from(failure, run, other):
                    return True
                break  # the next function: another mutant of this one tells little
        return False

    async def minimise(self, failure: Failure, run: RunSeen) -> tuple[list[Exchange], RunSeen, Failure]:
        """Return the statements that are needed, their run and the failure in it."""
        needed = sorted({failure.step, *(each.step for each in failure.checks)})
        working = [
            place
            for place, step in enumerate(run.steps[: max(needed) + 1])
            if step.error is None or place in needed
        ]
        best = await self._observe_same([self.exchanges[place] for place in working], failure)
        if best is None:
            return list(self.exchanges[: max(needed) + 1]), run, failure
        exchanges = [self.exchanges[place] for place in working]
        needed = sorted({best[1].step, *(each.step for each in best[1].checks)})
        state = {tuple(range(len(exchanges))): best}

        async def keeps(places: Sequence[int]) -> bool:
            found = await self._observe_same([exchanges[place] for place in places], failure)
            if found is not None:
                state[tuple(places)] = found
            return found is not None

        kept = tuple(await minimise_statements(exchanges, needed, keeps))
        if kept not in state:
            kept = tuple(range(len(exchanges)))
        return [exchanges[place] for place in kept], *state[kept]

    async def _observe_same(
        self, exchanges: Sequence[Exchange], failure: Failure
    ) -> tuple[RunSeen, Failure] | None:
        """Run statements; return the run and its failure if it is the same one."""
        try:
            run = await self.observe(exchanges)
        except RunFailed:
            return None
        found = classify_run(replace(self.draft, first=0), exchanges, self.machine.report, run)
        if isinstance(found, Rejection) or found.kind != failure.kind:
            return None
        same = _identify_failure(found) == _identify_failure(failure)
        return (run, found) if same else None


def _identify_failure(failure: Failure) -> tuple[object, ...]:
    return failure.error_type, failure.message, [(each.text, each.wanted) for each in failure.checks]


def is_told_failure(returncode: int, output: str, failure: Failure) -> bool:
    """Return whether a script ended with the failure: by the exception at the end of its output."""
    return is_failure_of(returncode, output, failure.kind, failure.error_type)


def is_failure_of(returncode: int, output: str, kind: str, error_type: str) -> bool:
    """Return whether a script ended with an exception of the type that a kind of failure has."""
    if returncode != 1:
        return False
    wanted = error_type if kind == "exception" else "AssertionError"
    lines = output.strip().splitlines()[-40:]
    return any(line.partition(":")[0].rpartition(".")[2].strip() == wanted for line in lines)


async def reproduce(
    at: Workspace,
    text: str,
    *,
    write_draft: WriteDraft | None = None,
    uses_report: bool = True,
    wants_told: bool = False,
    seconds: float = SECONDS,
) -> Reproduction:
    """Reproduce the bug that a report tells of. Raises UserError without a sandbox, TestsNotRunnable without Python.

    uses_report: the report's own code is tried before the drafts that are written
    wants_told: what a draft that is written expects has to be in the report, as a small model makes it up
    """
    from tools.testing.project_files import Project
    from tools.testing.python import find_interpreter

    project = Project(at)
    python = await find_interpreter(at, project, pytest=False)
    runner = ProbeRunner(
        at=at, python=python.path, packages=find_packages(at.root), timeout=min(RUN_SECONDS, seconds)
    )
    module = _find_settings_module(project.read_text("manage.py"))
    machine = Machine(
        at=at,
        runner=runner,
        text=text,
        write_draft=write_draft,
        uses_report=uses_report,
        wants_told=wants_told,
        settings_module=module,
        seconds=seconds,
    )
    try:
        return await machine.run()
    finally:
        await runner.close()


def _find_settings_module(manage: str) -> str:
    import re

    found = re.search(r"DJANGO_SETTINGS_MODULE['\"],\s*['\"]([\w.]+)['\"]", manage)
    return found[1] if found else ""


def _describe_report(report: Report) -> str:
    return f"{len(report.snippets)} snippets, {len(report.errors)} errors"


def _choose_reason(rejections: Sequence[Rejection]) -> str:
    if not rejections:
        return "the report holds no code that could be run"
    words = {
        "syntax": "its code does not parse",
        "import": "its code names what cannot be found here",
        "fixture": "the framework could not be set up",
        "environment": "its code cannot run here",
        "not told": "the report tells no result of its code",
        "not seen": "its code does not do what the report tells",
        "not deterministic": "its code does not come out the same each time",
        "passes elsewhere": "its code fails outside of the suspected code",
        "not sensitive": "no change of the suspected code changes the result",
        "not confirmed": "the script that was written does not fail in the told way",
    }
    order = list(words)
    last = max(rejections, key=lambda each: order.index(each.reason))
    return words[last.reason] + (f" ({last.detail})" if last.detail else "")

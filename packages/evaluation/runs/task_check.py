"""Admission of a task: its checker refuses nothing done, each failure case and each cheat, accepts the reference, and
repeats it.

Sources: Zhu et al. 2025, Establishing Best Practices for Building Rigorous Agentic Benchmarks (a run that does nothing
must not score); Zhou et al. 2025, Self-Challenging Language Model Agents (failure cases test the checker).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Set
from contextlib import suppress
from pathlib import Path

from agent.app_dirs import Home
from packages.evaluation.runs.cheats import CHEATS, CLAIM, Cheat, list_cheats
from packages.evaluation.runs.trial_place import CheckOutcome, SetupFailed, TrialPlace
from packages.evaluation.tasks.folder_files import write_contents
from packages.evaluation.tasks.task_folder import REFERENCE_FILE, Task
from sandbox.access_settings import AccessSettings
from sandbox.errors import UserError
from sandbox.fs.private_files import create_private_folder, write_private_file
from sandbox.fs.regular_file import SETTINGS, read_regular_file
from sandbox.lazy_dataclass import dataclass

REPEATS = 3
"""Runs of each case: a checker that fails one time in three shows it with a probability of 70 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    name: str
    patch: bytes
    passes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Whether a task measures anything. reason: why not; cached: known from an earlier check of the same content

    cheat: the one of `CHEATS` that the checker rewards, "" if none
    """

    task: str
    digest: str
    admitted: bool
    reason: str = ""
    cheat: str = ""
    cached: bool = False


class AdmissionCache:
    """Admitted tasks by digest. Refused ones are not kept: a missing program may be installed meanwhile."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def is_admitted(self, digest: str, accepted: Set[str] = frozenset(CHEATS)) -> bool:
        """Whether a task of this content was admitted. accepted: cheats that it may reward, as far as is known"""
        content = read_regular_file(self._folder / f"{digest}.json", SETTINGS)
        with suppress(ValueError, TypeError):
            kept = json.loads(content) if content is not None else {}
            checked = kept.get("repeats") == REPEATS and kept.get("cheats") == sorted(CHEATS)
            return checked and accepted >= set(kept["accepted"])
        return False

    def save_admission(self, digest: str, accepted: Set[str]) -> None:
        """Keep that a task was admitted, with the cheats that were not tried."""
        create_private_folder(self._folder)
        kept = {"repeats": REPEATS, "cheats": sorted(CHEATS), "accepted": sorted(accepted)}
        write_private_file(self._folder / f"{digest}.json", json.dumps(kept).encode())


async def check_task(
    task: Task, scratch: Path, home: Home, access: AccessSettings, accepted: Set[str] = frozenset()
) -> Admission:
    """Run all cases of a task, and its cheats. Raises nothing for what is wrong with it: the reason says it.

    accepted: cheats that are not tried
    """
    reason = cheat = ""
    try:
        reason = await _find_problem(task, scratch, home, access)
        if not reason and task.file.check.strip():
            cheat, reason = await _find_rewarded_cheat(task, scratch, home, access, accepted)
    except (UserError, SetupFailed) as error:
        reason = str(error)
    return Admission(task=task.name, digest=task.digest, admitted=not reason, reason=reason, cheat=cheat)


async def _find_rewarded_cheat(
    task: Task, scratch: Path, home: Home, access: AccessSettings, accepted: Set[str]
) -> tuple[str, str]:
    """Return the first cheat with a score above 0, and the reason that says so; two empty strings if there is none."""
    name = f"cheat-{task.digest[:16]}"
    place = await TrialPlace.open(task, scratch, name, home, access)
    try:
        cheats = await asyncio.to_thread(lambda: list(list_cheats(task, place.work)))
    finally:
        await asyncio.to_thread(place.close)
    for cheat in cheats:
        if cheat.name in accepted:
            continue
        outcome = await _run_cheat(task, cheat, scratch, name, home, access)
        if outcome.passed or outcome.score:
            what = "is solved" if outcome.passed else f"has a score of {outcome.score:g}"
            return cheat.name, f"cheat {cheat.name}: it {what} where {CHEATS[cheat.name]}"
    return "", ""


async def _run_cheat(
    task: Task, cheat: Cheat, scratch: Path, name: str, home: Home, access: AccessSettings
) -> CheckOutcome:
    place = await TrialPlace.open(task, scratch, name, home, access)
    try:
        await asyncio.to_thread(write_contents, cheat.files, place.work)
        return await place.check(answer=CLAIM, outcome="done")
    finally:
        await asyncio.to_thread(place.close)


async def _find_problem(task: Task, scratch: Path, home: Home, access: AccessSettings) -> str:
    if task.file.expect == "refuse" and not task.file.check.strip():
        return ""  # an empty change is the right result, and no command judges it
    if task.file.expect == "solve" and task.reference is None:
        return f"no {REFERENCE_FILE}: nothing shows that the checker accepts a right change"
    for case in _list_cases(task):
        outcomes: list[CheckOutcome] = []
        for number in range(REPEATS):
            name = f"check-{task.digest[:16]}-{number}"
            outcomes.append(await _run_case(task, case, scratch, name, home, access))
            if problem := _judge_case(case, outcomes[-1]):
                return problem
        if len({(each.ended, each.score) for each in outcomes}) > 1:
            return f"{case.name}: {REPEATS} runs of the checker do not agree"
    return ""


def _list_cases(task: Task) -> Iterator[_Case]:
    yield _Case(name="nothing done", patch=b"", passes=False)
    if task.file.expect == "refuse":  # it judges the answer, which is missing here
        return
    yield _Case(name=REFERENCE_FILE, patch=task.reference or b"", passes=True)
    for name, patch in task.failures.items():
        yield _Case(name=f"failures/{name}", patch=patch, passes=False)


async def _run_case(
    task: Task, case: _Case, scratch: Path, name: str, home: Home, access: AccessSettings
) -> CheckOutcome:
    place = await TrialPlace.open(task, scratch, name, home, access)
    try:
        try:
            await asyncio.to_thread(place.apply_patch, case.patch)
        except UserError as error:
            return CheckOutcome(ended="no-patch", score=0.0, detail=str(error))
        return await place.check()
    finally:
        await asyncio.to_thread(place.close)


def _judge_case(case: _Case, outcome: CheckOutcome) -> str:
    """Return what is wrong with one run of a case, "" if nothing is."""
    told = f": {outcome.detail}" if outcome.detail else ""
    if outcome.ended == "no-patch":
        return f"{case.name}: the patch does not fit{told}"
    if outcome.ended == "timeout":
        return f"{case.name}: the checker took too long{told}"
    if case.passes and not outcome.passed:
        return f"{case.name}: the checker refuses it{told}"
    if not case.passes and outcome.passed:
        return f"{case.name}: the checker accepts it"
    if not case.passes and outcome.score:
        return f"{case.name}: the checker gives it a score of {outcome.score:g} instead of 0"
    return ""

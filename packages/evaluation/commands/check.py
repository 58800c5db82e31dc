"""`patchwright eval check`: refuse tasks whose checker cannot tell right from wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.commands.options import Folder, Sandbox, collect_flags
from cli.output.standard_streams import print_json
from packages.evaluation.commands.evaluation_options import Filters, Jobs, Limit, Store, SuiteFolder

if TYPE_CHECKING:
    from packages.evaluation.commands.evaluation_setup import EvaluationSetup
    from packages.evaluation.runs.task_check import Admission
    from packages.evaluation.tasks.task_folder import Task


def add_to(group: typer.Typer) -> None:
    """Add the command to the group."""
    group.command()(check)


def check(
    suite: SuiteFolder,
    folder: Folder = Path("."),
    filters: Filters = None,
    limit: Limit = None,
    jobs: Jobs = None,
    store: Store = None,
    sandbox: Sandbox = None,
    again: Annotated[bool, typer.Option("--again", help="Also tasks that were admitted before.")] = False,
    accept: Annotated[
        list[str] | None,
        typer.Option("--accept", metavar="CHEAT", help="Do not try this cheat, by its name; repeatable."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON lines.")] = False,
) -> None:
    """Show that each task's checker tells right from wrong, three times the same.

    Doing nothing, each failure case and each of the standard cheats must score 0, the reference 1; other tasks are
    refused, with the reason.
    """
    raise typer.Exit(
        check_suite(
            suite,
            folder,
            filters or (),
            limit,
            jobs,
            store,
            collect_flags(sandbox=sandbox),
            again=again,
            accepted=accept or (),
            as_json=as_json,
        )
    )


def check_suite(
    suite: Path,
    folder: Path,
    filters: Sequence[str],
    limit: int | None,
    jobs: int | None,
    store: Path | None,
    flags: dict[str, object],
    *,
    again: bool,
    accepted: Sequence[str],
    as_json: bool,
) -> int:
    """Check the tasks of a suite. Returns the exit code. accepted: cheats that are not tried. Raises UserError."""
    from dataclasses import asdict

    from agent.exit_codes import Exit
    from packages.evaluation.commands.evaluation_options import count_jobs
    from packages.evaluation.commands.evaluation_setup import load_setup
    from packages.evaluation.runs.cheats import CHEATS
    from sandbox.errors import Fault, UserError
    from sandbox.process.bounded_end import run_loop
    from sandbox.sanitize import sanitize_text

    if unknown := [each for each in accepted if each not in CHEATS]:
        raise UserError(Fault.USAGE, f"no cheat {unknown[0]!r}", f"There are {', '.join(CHEATS)}.")
    setup = load_setup(suite, folder, filters, limit, store, flags)
    found = run_loop(_check_all(setup, count_jobs(jobs), frozenset(accepted), again=again))
    for each in found:
        if as_json:
            print_json(asdict(each))
        elif not each.admitted:
            print(sanitize_text(f"refused: {each.task}: {each.reason}"))
    refused = sum(not each.admitted for each in found)
    if not as_json:
        cached = sum(each.cached for each in found)
        known = f" ({cached} known from before)" if cached else ""
        print(f"{len(found) - refused} of {len(found)} tasks admitted{known}")
    if any(each.cheat for each in found):
        return int(Exit.CHEATED)
    return int(Exit.NOT_ACHIEVED if refused else Exit.DONE)


async def _check_all(
    setup: EvaluationSetup, jobs: int, accepted: frozenset[str], *, again: bool
) -> list[Admission]:
    import asyncio
    import os
    import shutil

    from packages.evaluation.runs.task_check import Admission, AdmissionCache, check_task

    cache = AdmissionCache(setup.store.folder / "admitted")
    scratch = setup.home.cache / "evaluation" / f"check-{os.getpid()}"
    gate = asyncio.Semaphore(jobs)

    async def check_one(task: Task) -> Admission:
        if not again and cache.is_admitted(task.digest, accepted):
            return Admission(task=task.name, digest=task.digest, admitted=True, cached=True)
        async with gate:
            found = await check_task(task, scratch, setup.home, setup.settings.access, accepted)
        if found.admitted:
            cache.save_admission(task.digest, accepted)
        return found

    try:
        return await asyncio.gather(*map(check_one, setup.tasks))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)

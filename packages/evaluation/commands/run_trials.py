"""`patchwright eval run`: trials of models and strategies on a suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.commands.options import Flags, Folder, takes_flags
from packages.evaluation.commands.evaluation_options import (
    Artifacts,
    Cpus,
    Env,
    Filters,
    Jobs,
    Limit,
    Ray,
    ReportFile,
    ReportFormat,
    ReportOutput,
    Store,
    SuiteFolder,
)
from packages.evaluation.commands.executor_choice import PlaceRequest
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from packages.evaluation.commands.evaluation_setup import EvaluationSetup
    from packages.evaluation.runs.run_suite import Progress, SuiteRun
    from packages.evaluation.runs.variant import Variant


def add_to(group: typer.Typer) -> None:
    """Add the command to the group."""
    group.command("run")(run)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A run as requested on the command line."""

    models: Sequence[str]
    strategies: Sequence[str]
    attempts: int | None
    instructions: Path | None
    label: str
    user_model: str
    trials: int
    place: PlaceRequest
    seed: int
    max_cost: float | None
    output: ReportFormat
    to: Path | None


@takes_flags
def run(
    *,
    suite: SuiteFolder,
    folder: Folder = Path("."),
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="NAME",
            help="Model to measure, or LABEL=NAME; repeatable. {task}, {trial} are replaced.",
        ),
    ] = None,
    strategy: Annotated[
        list[str] | None, typer.Option("--strategy", metavar="NAME", help="Strategy to measure; repeatable.")
    ] = None,
    attempts: Annotated[
        int | None, typer.Option("--attempts", min=1, help="Attempts of the strategy.")
    ] = None,
    instructions: Annotated[
        Path | None,
        typer.Option("--instructions", metavar="FILE", help="Text that is added to the system prompt."),
    ] = None,
    label: Annotated[
        str, typer.Option("--label", metavar="NAME", help="Name of what is measured, for reports.")
    ] = "",
    user_model: Annotated[
        str,
        typer.Option(
            "--user-model", metavar="NAME", help="Model that plays the users of tasks with a persona."
        ),
    ] = "",
    trials: Annotated[int, typer.Option("--trials", "-k", min=1, help="Trials of each task.")] = 1,
    jobs: Jobs = None,
    ray: Ray = None,
    artifacts: Artifacts = None,
    env: Env = None,
    cpus: Cpus = 1.0,
    seed: Annotated[
        int, typer.Option("--seed", help="Order of the tasks; another one draws new results.")
    ] = 0,
    filters: Filters = None,
    limit: Limit = None,
    max_cost: Annotated[
        float | None,
        typer.Option("--max-cost", min=0, help="Start no trial that could pass this many dollars in all."),
    ] = None,
    flags: Annotated[Flags, "max_steps max_time max_tokens api_base actions sandbox"],
    store: Store = None,
    output: ReportOutput = ReportFormat.text,
    to: ReportFile = None,
) -> None:
    """Run each task with each model and strategy, then report.

    Every trial is a session in a fresh copy of the task's files, judged by the task's checker after its end.
    Results are kept: the same command goes on where a run was cut off, and runs nothing twice.
    """
    request = RunRequest(
        models=model or (),
        strategies=strategy or (),
        attempts=attempts,
        instructions=instructions,
        label=label,
        user_model=user_model,
        trials=trials,
        place=PlaceRequest(jobs=jobs, ray=ray, artifacts=artifacts, env=env or (), cpus=cpus),
        seed=seed,
        max_cost=max_cost,
        output=output,
        to=to,
    )
    from packages.evaluation.commands.evaluation_setup import load_setup

    setup = load_setup(suite, folder, filters or (), limit, store, flags)
    raise typer.Exit(run_trials(setup, request))


def run_trials(setup: EvaluationSetup, request: RunRequest) -> int:
    """Run the trials and print the report. Returns the exit code. Raises UserError."""
    from agent.exit_codes import Exit
    from cli.output.standard_streams import write_error
    from packages.evaluation.commands.executor_choice import collect_variables, create_suite_run
    from packages.evaluation.commands.report import find_format, write_report
    from packages.evaluation.output.progress_line import ProgressLine
    from packages.evaluation.runs.run_plan import make_plan
    from packages.evaluation.runs.variant import SCRIPTED
    from patchwright.version import VERSION
    from sandbox.errors import Fault, UserError
    from sandbox.process.bounded_end import run_loop
    from sandbox.sanitize import sanitize_text

    if request.to is not None:
        find_format(request.to)  # before anything is paid for
    env = collect_variables(request.place)
    plan = make_plan(
        setup.suite.name,
        setup.tasks,
        _build_variants(setup, request, env),
        trials=request.trials,
        seed=request.seed,
        version=VERSION,
        user_model=request.user_model,
        env=env,
    )
    if request.place.ray and any(each.user_model.startswith(SCRIPTED) for each in plan.trials):
        raise UserError(
            Fault.USAGE, "a scripted user is a file of this machine: the nodes of --ray have none"
        )
    _announce(setup, request)
    line = ProgressLine()

    def tell(text: str) -> None:
        line.close()
        write_error(f"patchwright: {sanitize_text(text)}\n")

    suite_run = create_suite_run(
        setup, plan, request.place, tell, max_cost=request.max_cost, on_progress=line.show
    )
    try:
        progress = run_loop(_run_until_signal(suite_run))
    finally:
        line.close()
    if progress is None:
        write_error(f"patchwright: interrupted; the same command goes on with run {plan.record.id}\n")
        return int(Exit.INTERRUPTED)
    for each in suite_run.invalid:
        write_error(
            sanitize_text(f"no result: {each.task}, {each.variant}: {each.failure}: {each.detail}") + "\n"
        )
    write_report(setup.store, plan.record, request.output, request.to, suite_run.invalid)
    if progress.stopped:
        write_error(f"patchwright: stopped: {progress.stopped}\n")
        return int(Exit.LIMIT)
    return int(Exit.NOT_ACHIEVED if suite_run.invalid else Exit.DONE)


async def _run_until_signal(suite_run: SuiteRun) -> Progress | None:
    """Run to the end; None if a signal ended it: then every trial has ended, and what they left is removed."""
    import asyncio
    import signal

    from cli.commands.run.final_event import list_end_signals

    running = asyncio.ensure_future(suite_run.run())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, *list_end_signals()):
        loop.add_signal_handler(number, running.cancel)
    try:
        return await running
    except asyncio.CancelledError:
        return None
    finally:
        await suite_run.close()


def _build_variants(setup: EvaluationSetup, request: RunRequest, env: Mapping[str, str]) -> list[Variant]:
    """Return the variants. env: variables of the trials. Raises UserError."""
    import os
    from dataclasses import replace

    from agent.strategy.strategy_table import check_strategy_name
    from packages.evaluation.runs.passed_variables import check_passed_variables
    from packages.evaluation.runs.variant import make_variant
    from sandbox.errors import Fault, UserError
    from sandbox.fs.regular_file import SETTINGS, read_regular_file

    settings = setup.settings
    text = ""
    if request.instructions is not None:
        content = read_regular_file(request.instructions, SETTINGS)
        if content is None:
            raise UserError(Fault.USAGE, f"there is no file {str(request.instructions)!r}")
        text = content.decode("utf-8", "replace")
    models = [split_label(each) for each in request.models] or [("", settings.model)]
    strategies = request.strategies or (settings.strategy.name,)
    several = len(models) * len(strategies) > 1
    variants = []
    for named, model in models:
        for strategy in strategies:
            check_strategy_name(strategy)
            attempts = request.attempts or settings.strategy.attempts
            changed = replace(
                settings,
                model=model,
                strategy=replace(settings.strategy, name=strategy, attempts=attempts),
            )
            name = (named or model or "default") + (f"+{strategy}" if strategy != "single" else "")
            label = (f"{request.label}:{name}" if several else request.label) if request.label else name
            on_cluster = request.place.ray is not None
            if on_cluster:
                check_passed_variables(changed, request.user_model, os.environ, env)
            variants.append(
                make_variant(label, changed, text, home=setup.home, env=env, sees_user_files=not on_cluster)
            )
    return variants


def split_label(model: str) -> tuple[str, str]:
    """Return the label, "" without one, and the model of `LABEL=MODEL`."""
    label, equals, name = model.partition("=")
    return (label, name) if equals and name and label.replace("-", "").isalnum() else ("", model)


def _announce(setup: EvaluationSetup, request: RunRequest) -> None:
    """Say before the first trial what the run can show, and which tasks nobody has checked."""
    from cli.output.standard_streams import write_error
    from packages.evaluation.runs.task_check import AdmissionCache
    from packages.evaluation.statistics.detectable import compute_detectable_difference

    tasks = len(setup.tasks)
    detectable = compute_detectable_difference(tasks, request.trials)
    what = "no difference of two variants" if detectable >= 1 else f"differences from {detectable:.0%} on"
    write_error(
        f"{tasks} task{'s' if tasks > 1 else ''}, {request.trials} trial{'s' if request.trials > 1 else ''} each:"
        f" can show {what} (80 % power, 5 % level)\n"
    )
    cache = AdmissionCache(setup.store.folder / "admitted")
    if unchecked := sum(not cache.is_admitted(each.digest) for each in setup.tasks):
        write_error(f"{unchecked} of {tasks} tasks are not checked yet: patchwright eval check SUITE\n")

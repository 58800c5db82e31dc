"""`patchwright tune`: rules of a guideline that a suite has shown to help, as versions of the repository."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.commands.group import ListingGroup
from cli.commands.options import Flags, Folder, takes_flags
from cli.output.standard_streams import print_json, write_error, write_line
from packages.evaluation.commands.evaluation_options import Filters, Jobs, Limit, Store, SuiteFolder
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from packages.evaluation.commands.evaluation_setup import EvaluationSetup
    from packages.evaluation.runs.trial_result import TrialResult
    from packages.improve.tune.tuning import Tuning


def add(app: typer.Typer) -> None:
    """Add the group of commands to the program's."""
    group = typer.Typer(
        rich_markup_mode=None, help="Tune this repository's guideline by a suite.", cls=ListingGroup
    )
    group.command()(run)
    group.command()(show)
    group.command()(apply)
    group.command()(revert)
    app.add_typer(group, name="tune")


@takes_flags
def run(
    *,
    suite: SuiteFolder,
    rules: Annotated[
        Path, typer.Option("--rules", metavar="FILE", help="Rules to choose from, one for each line or item.")
    ],
    folder: Folder = Path("."),
    model: Annotated[Flags, "model api_base"],
    trials: Annotated[int, typer.Option("--trials", "-k", min=1, help="Trials of each task.")] = 1,
    evaluations: Annotated[
        int, typer.Option("--evaluations", min=2, help="Most guidelines that are evaluated.")
    ] = 200,
    jobs: Jobs = None,
    filters: Filters = None,
    limit: Limit = None,
    limits: Annotated[Flags, "max_steps max_time max_tokens actions sandbox"],
    store: Store = None,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Choose the rules by one half of a suite, and keep them if the other half is solved better.

    Rules are added or left out one at a time. A paired test on tasks that had no part in the choice decides. What is
    accepted becomes a version; `tune apply` puts it into AGENTS.md.
    """
    from agent.exit_codes import Exit
    from packages.evaluation.commands.evaluation_setup import load_setup
    from packages.improve.tune.overlays import find_applied, list_overlays, parse_rules, save_overlay
    from packages.improve.tune.tuning import Tuning
    from sandbox.fs.regular_file import SETTINGS, read_regular_file
    from sandbox.process.bounded_end import run_loop

    root, content = _find_root(folder), read_regular_file(rules, SETTINGS)
    if content is None or not (pool := parse_rules(content.decode("utf-8", "replace"))):
        raise UserError(
            Fault.USAGE, f"no rules in {str(rules)!r}", "One rule for each line, or for each item."
        )
    setup = load_setup(suite, folder, filters or (), limit, store, {**model, **limits})
    applied = find_applied(root)
    start = next((each.rules for each in list_overlays(root) if each.version == applied), ())
    runner = _SuiteRunner(setup=setup, trials=trials, jobs=jobs)
    tuning = Tuning(
        tasks=[each.name for each in setup.tasks],
        rules=pool,
        start=start,
        run_tasks=runner.run_tasks,
        most=evaluations,
        tell=(lambda line: None) if as_json else lambda line: write_error(f"patchwright: {line}\n"),
    )
    best = run_loop(tuning.run())
    version = 0
    if best is not None:
        version = save_overlay(root, best.rules, _describe_evidence(tuning)).version
    code = Exit.DONE if version else Exit.NOTHING_TO_DO
    _report(tuning, best.rules if best else (), version, code.label, int(code), as_json=as_json)
    raise typer.Exit(code)


class _SuiteRunner:
    """Runs tasks with rules as instructions; results that are there already are not drawn again."""

    def __init__(self, *, setup: EvaluationSetup, trials: int, jobs: int | None) -> None:
        self._setup, self._trials, self._jobs = setup, trials, jobs

    async def run_tasks(self, tasks: Sequence[str], rules: tuple[str, ...]) -> Sequence[TrialResult]:
        """See `RunTasks`. Rules are put in one order: the same set has the same results."""
        from packages.evaluation.commands.executor_choice import PlaceRequest, create_executor
        from packages.evaluation.runs.run_plan import make_plan
        from packages.evaluation.runs.run_suite import SuiteRun
        from packages.evaluation.runs.variant import RunFolders, make_variant
        from packages.improve.tune.overlays import format_rules
        from patchwright.version import VERSION

        setup = self._setup
        chosen = [each for each in setup.tasks if each.name in tasks]
        variant = make_variant("tune", setup.settings, format_rules(sorted(rules)), home=setup.home)
        plan = make_plan(setup.suite.name, chosen, [variant], trials=self._trials, seed=0, version=VERSION)
        place = PlaceRequest(jobs=self._jobs, ray=None, artifacts=None, env=(), cpus=1.0)
        scratch = setup.home.cache / "evaluation" / plan.record.id
        suite_run = SuiteRun(
            plan,
            setup.store,
            create_executor(setup, place, plan.record.id, lambda line: None),
            RunFolders(home=setup.home, scratch=scratch, sessions=setup.store.sessions),
            version=VERSION,
        )
        try:
            await suite_run.run()
        finally:
            await suite_run.close()
        found = [setup.store.read_result(each.key) for each in plan.trials]
        return [*(each for each in found if each is not None), *suite_run.invalid]


def _describe_evidence(tuning: Tuning) -> str:
    found = tuning.comparison
    assert found is not None
    return (
        f"{found.rates[0]:.1%} to {found.rates[1]:.1%} of {found.tasks} held-out tasks (p = {found.p_value:.3f}); "
        f"{tuning.trials} trials, ${tuning.cost:.2f}"
    )


def _report(
    tuning: Tuning, rules: Sequence[str], version: int, outcome: str, code: int, *, as_json: bool
) -> None:
    from packages.improve.optimize.report import draw_bars

    found, tried = tuning.comparison, tuning.search.tried if tuning.search else []
    if as_json:
        data: dict[str, Any] = {
            "outcome": outcome,
            "exit_code": code,
            "version": version,
            "rules": list(rules),
            "evaluations": [{"rules": list(each.rules), "score": each.score} for each in tried],
            "held_out": {"rates": list(found.rates), "p_value": found.p_value, "tasks": found.tasks}
            if found
            else None,
            "trials": tuning.trials,
            "cost": tuning.cost,
        }
        print_json(data)
        return
    best = list(accumulate((each.score for each in tried), max))
    lines = (
        [f"{draw_bars(best, best[0])}  {best[0]:.0%} to {best[-1]:.0%} of the tasks that choose"]
        if best
        else []
    )
    lines.append(f"{len(tried)} guidelines evaluated, {tuning.trials} trials, ${tuning.cost:.2f}")
    if version:
        lines += [f"version {version}: {_describe_evidence(tuning)}", *(f"- {each}" for each in rules)]
        lines.append(f"patchwright tune apply {version} puts it into AGENTS.md")
    elif found:
        lines.append(f"no version: {_describe_evidence(tuning)}")
    else:
        lines.append("no version: no rules were better than the guideline as it is")
    write_line(sanitize_text("\n".join(lines)).encode("utf-8", "replace") + b"\n")


def show(
    folder: Folder = Path("."), as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False
) -> None:
    """List the versions with their evidence, and which one AGENTS.md has."""
    from packages.improve.tune.overlays import find_applied, list_overlays

    root = _find_root(folder)
    overlays, applied = list_overlays(root), find_applied(root)
    if as_json:
        print_json([{**asdict(each), "applied": each.version == applied} for each in overlays])
        return
    lines = []
    for each in overlays:
        lines.append(f"{each.version}{' (applied)' if each.version == applied else ''}: {each.evidence}")
        lines += [f"  - {rule}" for rule in each.rules]
    write_line(sanitize_text("\n".join(lines or ["no versions"])).encode("utf-8", "replace") + b"\n")


def apply(
    version: Annotated[int, typer.Argument(metavar="VERSION", min=1, help="As `tune show` lists it.")],
    folder: Folder = Path("."),
) -> None:
    """Put a version into AGENTS.md, in place of the one that is there."""
    from packages.improve.tune.overlays import apply_overlay

    apply_overlay(_find_root(folder), version)
    write_line(f"AGENTS.md has version {version}\n".encode())


def revert(folder: Folder = Path(".")) -> None:
    """Put the version before the applied one into AGENTS.md; before the first one there is none."""
    from packages.improve.tune.overlays import apply_overlay, find_applied, list_overlays

    root = _find_root(folder)
    applied = find_applied(root)
    if not applied:
        raise UserError(Fault.USAGE, "AGENTS.md has no version of tune")
    earlier = [each.version for each in list_overlays(root) if each.version < applied]
    apply_overlay(root, max(earlier, default=0))
    write_line(f"AGENTS.md has {f'version {max(earlier)}' if earlier else 'no version'}\n".encode())


def _find_root(folder: Path) -> Path:
    from agent.workspace_root import find_workspace_root

    return find_workspace_root(folder, need_git=False)[0]

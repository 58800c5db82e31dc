"""`patchwright tune`: guidelines and settings that a suite has shown to help, as versions of the repository."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
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
    from agent.session_settings import SessionSettings
    from packages.evaluation.commands.evaluation_setup import EvaluationSetup
    from packages.evaluation.runs.trial_result import TrialResult
    from packages.improve.commands.confined_session import Tell
    from packages.improve.tune.overlays import Overlay, OverlayKind
    from packages.improve.tune.strategy_search import EvaluateTasks
    from packages.improve.tune.tuning import MakeSearch, Tuning


def add(app: typer.Typer) -> None:
    """Add the group of commands to the program's."""
    group = typer.Typer(
        rich_markup_mode=None,
        help="Tune a guideline, strategy, prompts or tools by a suite.",
        cls=ListingGroup,
    )
    for each in (run, show, apply, revert):
        group.command()(each)
    app.add_typer(group, name="tune")


class KindOption(StrEnum):
    """What is tuned."""

    guideline = "guideline"
    strategy = "strategy"
    prompts = "prompts"
    descriptions = "descriptions"


Kind = Annotated[KindOption, typer.Option("--kind", help="What is tuned.")]


@takes_flags
def run(
    *,
    suite: SuiteFolder,
    rules: Annotated[
        Path | None,
        typer.Option("--rules", metavar="FILE", help="Rules to choose from; or values by setting."),
    ] = None,
    kind: Kind = KindOption.guideline,
    folder: Folder = Path("."),
    model: Annotated[Flags, "model api_base"],
    trials: Annotated[int, typer.Option("--trials", "-k", min=1, help="Trials of each task.")] = 1,
    evaluations: Annotated[
        int, typer.Option("--evaluations", min=2, help="Most versions that are evaluated.")
    ] = 200,
    seed: Annotated[int, typer.Option("--seed", help="Of the strategies that are drawn.")] = 0,
    jobs: Jobs = None,
    filters: Filters = None,
    limit: Limit = None,
    limits: Annotated[Flags, "max_steps max_time max_tokens actions sandbox"],
    store: Store = None,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Choose rules, or settings, by one half of a suite, and keep them if the other half is solved better.

    Rules are added or left out one at a time; settings are bred, and tried on few tasks first. A paired
    test on tasks that had no part in the choice decides. What is accepted becomes a version, for `tune apply`.
    """
    from agent.exit_codes import Exit
    from packages.evaluation.commands.evaluation_setup import load_setup
    from packages.improve.tune.overlays import KINDS, Overlays
    from packages.improve.tune.tuning import Tuning
    from sandbox.process.bounded_end import run_loop

    def tell(line: str) -> None:
        if not as_json:
            write_error(f"patchwright: {line}\n")

    overlays = Overlays(_find_root(folder), KINDS[kind])
    setup = load_setup(suite, folder, filters or (), limit, store, {**model, **limits})
    applied = overlays.find_applied()
    tuning = Tuning(
        tasks=[each.name for each in setup.tasks],
        start=next((each.rules for each in overlays.list_versions() if each.version == applied), ()),
        run_tasks=_SuiteRunner(setup=setup, kind=overlays.kind, trials=trials, jobs=jobs).run_tasks,
        make_search=_prepare_search(rules, kind, setup.settings, evaluations, seed, tell),
    )
    best = run_loop(tuning.run())
    saved = overlays.save_version(best.rules, _describe_evidence(tuning)) if best is not None else None
    code = Exit.NOTHING_TO_DO if saved is None else Exit.DONE
    if as_json:
        outcome = {"outcome": code.label, "exit_code": int(code), "kind": kind.value}
        print_json(outcome | _describe_result(tuning, saved))
    else:
        _report(tuning, overlays.kind, saved)
    raise typer.Exit(code)


def _prepare_search(
    rules: Path | None, kind: KindOption, settings: SessionSettings, most: int, seed: int, tell: Tell
) -> MakeSearch:
    """Return what begins the search, of the rules or parts of a file. Raises UserError without any."""
    from packages.improve.tune.overlays import parse_rules
    from packages.improve.tune.rule_search import RuleSearch
    from packages.improve.tune.strategy_parts import PARTS, leave_out_known, parse_parts
    from packages.improve.tune.strategy_search import StrategySearch
    from sandbox.fs.regular_file import SETTINGS, read_regular_file

    content = read_regular_file(rules, SETTINGS) if rules is not None else b""
    text = (content or b"").decode("utf-8", "replace")
    pool = parse_rules(text)
    if content is None or (kind is not KindOption.strategy and not pool):
        raise UserError(
            Fault.USAGE, f"no rules in {str(rules or '')!r}", "One for each line, or for each item."
        )
    if kind is not KindOption.guideline:
        known = parse_parts(text, kind) if rules is not None else PARTS
        parts, name = leave_out_known(known, settings)
        return lambda evaluate, tasks: StrategySearch(
            parts=parts, name=name, tasks=tasks, evaluate=evaluate, most=most, seed=seed, tell=tell
        )

    def make_search(evaluate: EvaluateTasks, tasks: Sequence[str]) -> RuleSearch:
        async def compute_share(chosen: tuple[str, ...]) -> float:
            found = await evaluate(chosen, tasks)
            return sum(found) / len(found)

        return RuleSearch(rules=pool, evaluate=compute_share, most=most, tell=tell)

    return make_search


class _SuiteRunner:
    """Runs tasks with rules as instructions, or with settings; results that are there already are not drawn again."""

    def __init__(self, *, setup: EvaluationSetup, kind: OverlayKind, trials: int, jobs: int | None) -> None:
        self._setup, self._kind, self._trials, self._jobs = setup, kind, trials, jobs

    async def run_tasks(self, tasks: Sequence[str], rules: tuple[str, ...]) -> Sequence[TrialResult]:
        """See `RunTasks`. Rules are put in one order: the same set has the same results."""
        from packages.evaluation.commands.executor_choice import PlaceRequest, create_suite_run
        from packages.evaluation.runs.run_plan import make_plan
        from packages.evaluation.runs.variant import make_variant
        from packages.improve.tune.strategy_parts import add_lines
        from patchwright.version import VERSION

        setup, settings, instructions = self._setup, self._setup.settings, ""
        if self._kind.has_settings:
            settings = add_lines(settings, rules)
        else:
            instructions = self._kind.format_lines(sorted(rules))
        chosen = [each for each in setup.tasks if each.name in tasks]
        variant = make_variant("tune", settings, instructions, home=setup.home)
        plan = make_plan(setup.suite.name, chosen, [variant], trials=self._trials, seed=0, version=VERSION)
        place = PlaceRequest(jobs=self._jobs, ray=None, artifacts=None, env=(), cpus=1.0)
        suite_run = create_suite_run(setup, plan, place, lambda line: None)
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


def _describe_result(tuning: Tuning, saved: Overlay | None) -> dict[str, Any]:
    found, tried = tuning.comparison, tuning.search.tried if tuning.search else []
    rates = {"rates": list(found.rates), "p_value": found.p_value, "tasks": found.tasks} if found else None
    return {
        "version": saved.version if saved else 0,
        "rules": list(saved.rules) if saved else [],
        "evaluations": [{"rules": list(each.rules), "score": each.score} for each in tried],
        "held_out": rates,
        "trials": tuning.trials,
        "cost": tuning.cost,
    }


def _report(tuning: Tuning, kind: OverlayKind, saved: Overlay | None) -> None:
    from packages.improve.optimize.report import draw_bars

    tried = tuning.search.tried if tuning.search else []
    best = list(accumulate((each.score for each in tried), max)) or [0.0]
    few = f", {screened} more on some tasks" if (screened := getattr(tuning.search, "screened", 0)) else ""
    lines = [
        f"{draw_bars(best, best[0])}  {best[0]:.0%} to {best[-1]:.0%} of the tasks that choose",
        f"{len(tried)} of kind {kind.name} evaluated{few}, {tuning.trials} trials, ${tuning.cost:.2f}",
    ]
    if saved is not None:
        option = "" if kind.name == KindOption.guideline else f" --kind {kind.name}"
        lines += [f"version {saved.version}: {saved.evidence}", *(f"- {each}" for each in saved.rules)]
        lines.append(f"patchwright tune apply {saved.version}{option} puts it into {kind.file}")
    elif tuning.comparison:
        lines.append(f"no version: {_describe_evidence(tuning)}")
    else:
        lines.append(f"no version: nothing was better than the {kind.name} as it is")
    write_line(sanitize_text("\n".join(lines)).encode("utf-8", "replace") + b"\n")


def show(
    folder: Folder = Path("."), as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False
) -> None:
    """List the versions with their evidence, and which ones are applied."""
    from packages.improve.tune.overlays import KINDS, Overlays

    found: list[dict[str, Any]] = []
    for kind in KINDS.values():
        overlays = Overlays(_find_root(folder), kind)
        versions, applied = overlays.list_versions(), overlays.find_applied()
        found += [
            {"kind": kind.name, **asdict(each), "applied": each.version == applied} for each in versions
        ]
    if as_json:
        print_json(found)
        return
    lines = []
    for each in found:
        name = "" if each["kind"] == KindOption.guideline else f"{each['kind']} "
        lines.append(f"{name}{each['version']}{' (applied)' if each['applied'] else ''}: {each['evidence']}")
        lines += [f"  - {rule}" for rule in each["rules"]]
    write_line(sanitize_text("\n".join(lines or ["no versions"])).encode("utf-8", "replace") + b"\n")


def apply(
    version: Annotated[int, typer.Argument(metavar="VERSION", min=1, help="As `tune show` lists it.")],
    kind: Kind = KindOption.guideline,
    folder: Folder = Path("."),
) -> None:
    """Put a version into AGENTS.md, or patchwright.toml, in place of the one that is there."""
    from packages.improve.tune.overlays import KINDS, Overlays

    overlays = Overlays(_find_root(folder), KINDS[kind])
    overlays.apply_version(version)
    words = f"version {version}" if version else "no version"
    needed = "; it counts after `patchwright trust`" if version and kind is not KindOption.guideline else ""
    write_line(f"{overlays.kind.file} has {words}{needed}\n".encode())


def revert(kind: Kind = KindOption.guideline, folder: Folder = Path(".")) -> None:
    """Put the version before the applied one there; before the first one there is none."""
    from packages.improve.tune.overlays import KINDS, Overlays

    overlays = Overlays(_find_root(folder), KINDS[kind])
    if not (applied := overlays.find_applied()):
        raise UserError(Fault.USAGE, f"{overlays.kind.file} has no version of tune")
    earlier = [each.version for each in overlays.list_versions() if each.version < applied]
    apply(max(earlier, default=0), kind, folder)


def _find_root(folder: Path) -> Path:
    from agent.workspace_root import find_workspace_root

    return find_workspace_root(folder, need_git=False)[0]

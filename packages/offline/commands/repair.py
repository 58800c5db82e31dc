"""`patchwright repair` and `patchwright localize --tests`: the offline engine from the command line."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.app_dirs import Home, make_private_folder
from agent.exit_codes import Exit
from cli.commands.options import FailingTests, Folder
from cli.output.standard_streams import write_error
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from packages.offline.repair.result import Fix, RepairResult
    from tools.core.workspace import Workspace


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(repair)


def repair(
    tests: FailingTests = None,
    folder: Folder = Path("."),
    hint: Annotated[
        str, typer.Option("--hint", metavar="WORDS", help='Look there first: "cart.py::total off by one".')
    ] = "",
    budget: Annotated[str, typer.Option("--budget", metavar="TIME", help="Time to search: 60s, 5m.")] = "60s",
    top: Annotated[int, typer.Option("--top", min=1, max=10, help="Show so many changes, best first.")] = 1,
    apply: Annotated[
        bool | None,
        typer.Option("--apply/--no-apply", help="Write even doubtful changes, or none. [default: sure ones]"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Make failing tests pass by small changes, without a model.

    In Python, and less well in Go, JavaScript, TypeScript, Java, Rust and C. Changes that break no other test are
    applied, unless they are so doubtful that they may only fit the tests: those are shown.
    """
    found = repair_failing_tests(
        folder, tests or [], hint=hint, budget=budget, top=top, apply=apply, as_json=as_json
    )
    raise typer.Exit(found)


# Seconds for a ranking, which runs the tests once or twice.
LOCALIZE_SECONDS = 600.0

# Seconds for a search: after an hour, success is unlikely.
SHORTEST, LONGEST = 1.0, 3600.0

SHOWN = 10

# Changes for the user to choose from: the doubtful one and the next best ones.
SHOWN_IN_DOUBT = 3

WITHHELD = (
    "A doubtful change makes the tests pass but may mean something else than what was meant: look at it and at the "
    "alternatives.\nWrite it with --apply, or say where the fault is with --hint."
)

OWN_WORK = (
    "The tests pass without work of yours, which is the suspect: it is shown and left alone, also with --apply.\n"
    "To take it back yourself: git restore --patch FILE, or git stash."
)


def localize_failing_tests(folder: Path, tests: Sequence[str], *, as_json: bool) -> int:
    """Rank the lines that make tests fail. Returns DONE, NOTHING_TO_DO if no test fails, else as `repair`.

    Raises UserError.
    """
    import json

    from packages.offline.repair.engine.repair_engine import localize_faults
    from packages.offline.repair.result import format_failure_trace
    from sandbox.process.bounded_end import run_loop

    with open_workspace(folder) as at:
        result, _ = run_loop(localize_faults(at, _select_targets(tests), LOCALIZE_SECONDS))
    if as_json:
        print(json.dumps(result.as_data()))
    elif result.suspects:
        print(
            sanitize_text(
                "\n".join(
                    [f"{len(result.left)} failing", *_format_suspects(result), *format_failure_trace(result)]
                )
            )
        )
    else:
        print(sanitize_text(result.reason))
    return Exit.DONE if result.suspects else _choose_exit_code(result)


def repair_failing_tests(
    folder: Path, tests: Sequence[str], *, hint: str, budget: str, top: int, apply: bool | None, as_json: bool
) -> int:
    """Search for a fix of failing tests. Returns DONE if all pass, else the exit code of the reason. Raises UserError.

    apply: None applies only fixes that are not doubtful, True all, False none
    """
    import json

    from packages.offline.repair.engine import repair_engine
    from packages.offline.repair.engine.candidates.ranking import select_confident_fixes, select_own_changes
    from sandbox.process.bounded_end import run_loop

    seconds = parse_seconds(budget)
    with open_workspace(folder) as at:
        told = (lambda line: None) if as_json else lambda line: write_error(sanitize_text(line) + "\n")
        result = run_loop(
            repair_engine.repair(
                at, targets=_select_targets(tests), hint=hint, budget=seconds, on_progress=told
            )
        )
        select = select_own_changes if apply else select_confident_fixes
        made = () if apply is False else select(result.fixes)
        if made:
            _write_fixes(at, made)
    withheld = apply is not False and len(made) < len(result.fixes)
    if as_json:
        data = {"applied": bool(made), "withheld": len(result.fixes) - len(made) if withheld else 0}
        print(json.dumps({**result.as_data(), **data}))
    else:
        print(
            sanitize_text(
                "\n".join(_format_result(result, max(top, SHOWN_IN_DOUBT) if withheld else top, made))
            )
        )
        if withheld:
            print(OWN_WORK if result.fixes[len(made)].own_work else WITHHELD)
    return Exit.TESTS_FAIL if withheld else _choose_exit_code(result)


def _select_targets(tests: Sequence[str]) -> list[str]:
    """Return the targets to run; an empty list means all tests."""
    return [] if "all" in tests else list(tests)


@contextmanager
def open_workspace(folder: Path) -> Iterator[Workspace]:
    """Open the folder as a workspace with sandboxed commands; temporary files are removed afterwards."""
    import tempfile

    from cli.settings.layers import load_settings
    from sandbox.backends.selection import choose_sandbox
    from sandbox.fs.workspace_tree import Tree
    from sandbox.view.visible_paths import resolve_visible_paths
    from tools.core.artifacts import Artifacts
    from tools.core.tool_folders import ToolFolders
    from tools.core.workspace import Workspace

    if not folder.is_dir():
        raise UserError(Fault.USAGE, f"no such folder: {str(folder)!r}")
    root, home = folder.resolve(), Home.from_environment()
    shown = resolve_visible_paths(load_settings(home, root, {}).session.access.visible_paths)
    place = Path(tempfile.mkdtemp(prefix="repair-", dir=make_private_folder(home.cache)))
    try:
        yield Workspace(
            root=root,
            files=Tree(root),
            sandbox=choose_sandbox(
                root,
                spill=make_private_folder(place / "spill"),
                hidden=(home.data, home.config),
                visible=shown,
            ),
            artifacts=Artifacts(place / "artifacts"),
            journal=home.get_project_folder(root) / "journal",
            folders=ToolFolders(cache=place / "cache", shared=home.cache),
        )
    finally:
        shutil.rmtree(place, ignore_errors=True)  # leftovers are only a cache


def parse_seconds(text: str) -> float:
    """Parse "90", "90s", "2m" or "1h" to seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|h)?", text.strip())
    seconds = float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2] or "s"] if match else 0.0
    if not SHORTEST <= seconds <= LONGEST:
        raise UserError(
            Fault.USAGE, f"--budget {text!r} is not a time from 1s to 1h", "For example 60s, or 5m."
        )
    return seconds


def _write_fixes(at: Workspace, fixes: Sequence[Fix]) -> None:
    """Write all fixes or none, each at the one place where it was validated. Raises UserError."""
    from sandbox.fs.transaction.transactions import Conflict
    from tools.edit.apply.edit_plan import PlanRefused, build_writes
    from tools.edit.apply.planner import plan_changes
    from tools.edit.edit_model import Replace, Update

    changes = [Update(path=fix.path, edits=(Replace(old=fix.old, new=fix.new),)) for fix in fixes]
    make_private_folder(at.journal.parent)
    transactions = at.transactions
    try:
        with transactions.lock_tree() as recovery:
            if recovery is not None:
                write_error(f"patchwright: {sanitize_text(str(recovery))}\n")
            transactions.commit(build_writes(plan_changes(at.files, changes, strictest=True)))
    except (PlanRefused, Conflict) as problem:
        raise UserError(
            Fault.USAGE,
            f"a file was changed while the search ran, so nothing was written: {problem}",
            "Run it again.",
        ) from None


def _format_result(result: RepairResult, top: int, made: Sequence[Fix]) -> list[str]:
    lines = [f"{result.outcome}: {result.reason}"]
    for fix in result.fixes:
        lines += _format_fix(fix, f"{fix.path}:{fix.line}: {fix.why}")
    if result.fixes:
        done = "applied, not committed" if made else "not applied"
        if made and len(made) < len(result.fixes):
            done = f"the first {len(made)} applied, not committed; the others not applied"
        lines.append(f"{done}; checked against {result.checked} tests, {result.tried} changes tried")
    for number, patch in enumerate(result.alternatives[: top - 1], 2):
        lines.append(f"alternative {number}, which passes the same tests (not run against the whole suite):")
        for fix in patch:
            lines += _format_fix(fix, f"{fix.path}:{fix.line}: {fix.why}")
    if result.left:
        lines.append("still failing:")
        lines += [f"  {test}: {result.messages.get(test, '')}" for test in result.left[:SHOWN]]
    if result.left or not result.fixes:
        lines += _format_suspects(result)
    if result.unsteady:
        lines.append(
            f"left out, as they do not come out the same each time: {', '.join(result.unsteady[:SHOWN])}"
        )
    return lines


def _format_fix(fix: Fix, head: str) -> list[str]:
    from packages.offline.repair.engine.candidates.ranking import describe_confidence

    minus = [f"    - {line}" for line in fix.old.split("\n")]
    plus = [f"    + {line}" for line in fix.new.split("\n")]
    return [
        head,
        *minus,
        *plus,
        f"    confidence: {describe_confidence(fix.confidence)} ({fix.confidence:.2f})",
        *([f"    in doubt: {fix.doubt}"] if fix.doubt and not fix.is_sure else []),
        *([f"    suspect: {fix.own_work}"] if fix.own_work else []),
    ]


def _format_suspects(result: RepairResult) -> list[str]:
    if not result.suspects:
        return []
    rows = [
        f"  {each.score:.2f}  {each.path}:{each.line}  {each.code[:90]}  "
        f"({each.failing} failing, {each.passing} passing)"
        for each in result.suspects[:SHOWN]
    ]
    return ["most suspicious:", *rows]


def _choose_exit_code(result: RepairResult) -> int:
    from packages.offline.repair.result import Outcome

    codes = {
        Outcome.FIXED: Exit.DONE,
        Outcome.ALL_PASS: Exit.NOTHING_TO_DO,
        Outcome.NO_TESTS: Exit.NO_TEST_RUNNER,
        Outcome.CANNOT_RUN: Exit.NO_TEST_RUNNER,
        Outcome.PARTLY_FIXED: Exit.TESTS_FAIL,
    }
    return codes.get(result.outcome, Exit.NOT_ACHIEVED)

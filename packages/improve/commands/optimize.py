"""`patchwright optimize`: make Python code faster by changes that a measurement confirms, with or without a model."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.exit_codes import Exit
from cli.commands.options import Flags, Folder, NoCommit, check_command_line, takes_flags
from cli.output.standard_streams import write_line
from packages.improve.commands.confined_session import run_in_session
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from agent.events import End
    from packages.improve.commands.confined_session import ConfinedSession
    from packages.improve.optimize.optimization import Optimization


class GoalOption(StrEnum):
    """Which values of a metric are better."""

    min = "min"
    max = "max"


FINE = (Exit.DONE, Exit.NO_TEST_RUNNER, Exit.NOTHING_TO_DO)  # ends after which the next file is tried


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(optimize)


@takes_flags
def optimize(
    *,
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET", help="Python file, one of its functions as FILE::NAME, or a folder."
        ),
    ],
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            metavar="COMMAND",
            help="Command whose last line ends in the number to improve; without one, its time counts.",
            callback=lambda value: check_command_line(value, "--metric"),
        ),
    ],
    goal: Annotated[GoalOption, typer.Option("--goal", help="Which numbers are better.")] = GoalOption.min,
    check: Annotated[
        str,
        typer.Option(
            "--check", metavar="COMMAND", help="Command that a faster version has to pass; else the tests."
        ),
    ] = "",
    folder: Folder = Path("."),
    model: Annotated[Flags, "model api_base"],
    budget: Annotated[str, typer.Option("--budget", metavar="TIME", help="Time to search: 60s, 5m.")] = "60s",
    place: Annotated[Flags, "sandbox"],
    no_commit: NoCommit = False,
    limits: Annotated[Flags, "max_cost max_tokens"],
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Make Python code faster, and prove it by measurement.

    Rewrites are tried in copies, alone and together, and with --model also what that model proposes. One is applied if
    it answers generated inputs as the original does, passes the check, and wins fresh runs in turns with the original.
    """
    flags = {"model": "offline", **place, **model, **limits, **({"test_command": check} if check else {})}

    async def work(session: ConfinedSession) -> int:
        return _report(await _optimize(session, target, metric, goal, budget), as_json=as_json)

    raise typer.Exit(run_in_session(work, folder, flags, commit=not no_commit, as_json=as_json))


async def _optimize(
    session: ConfinedSession, target: str, metric: str, goal: GoalOption, budget: str
) -> list[_Result]:
    import asyncio

    from packages.improve.optimize.hot_files import rank_hot_files
    from packages.improve.optimize.optimization import Optimization, read_target
    from packages.offline.commands.repair import parse_seconds

    runtime, at = session.runtime, session.runtime.workspace
    file, _, function = target.partition("::")
    path = _find_path(session.folder, at.root, file)
    seconds, paths = parse_seconds(budget), [path]
    if (at.root / path).is_dir():
        hot = await rank_hot_files(at, path, metric)
        for each, share in hot:
            session.tell(f"profile: {share:.0%} in {each}")
        paths = [each for each, _ in hot]
    found: list[_Result] = []
    for each in paths:
        read_target(at, each, function)
        work = Optimization(
            runtime=runtime,
            path=each,
            function=function,
            metric=metric,
            goal="max" if goal is GoalOption.max else "min",
            seconds=seconds / len(paths),
            tell=session.tell,
        )
        end = await runtime.run_turn(f"Optimize {each} by {metric!r}", work)
        name = f"{runtime.session.id}-{len(found)}" if found else runtime.session.id
        plot = await asyncio.to_thread(_write_plot, session.project, work, name)
        found.append(_Result(work=work, end=end, plot=plot))
        if Exit(end.exit_code) not in FINE:
            break
    return found


def _find_path(folder: Path, root: Path, path: str) -> str:
    """Return the target relative to the root. Raises UserError for one outside."""
    try:
        return (folder / path).resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        raise UserError(Fault.USAGE, f"{path!r} is not in {root}") from None


def _write_plot(folder: Path, work: Optimization, session: str) -> Path | None:
    """Write the picture of the progress to the project's folder of Patchwright's; None without a candidate."""
    from agent.app_dirs import make_private_folder
    from packages.improve.optimize.report import draw_svg
    from sandbox.fs.private_files import write_private_file

    if work.search is None or not work.search.tried:
        return None
    path = make_private_folder(folder / "optimize") / f"{session}.svg"
    title = f"{work.path}::{work.function}" if work.function else work.path
    write_private_file(path, draw_svg(work.search.tried, work.claim, title).encode())
    return path


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """Result of one file. plot: None without a candidate"""

    work: Optimization
    end: End
    plot: Path | None


def _report(found: Sequence[_Result], *, as_json: bool) -> int:
    """Print the results, one of each file. Returns the exit code: of what ended the search, else of a change."""
    from agent.events import encode_line

    code = choose_code([Exit(each.end.exit_code) for each in found])
    if as_json:
        files = [_describe(each) for each in found]
        data = {"outcome": code.label, "exit_code": int(code), "files": files}
        write_line(encode_line(files[0] if len(files) == 1 else data))
        return code
    for each in found:
        write_line(sanitize_text("\n".join(_list_lines(each))).encode("utf-8", "replace") + b"\n")
    return code


def choose_code(codes: Sequence[Exit]) -> Exit:
    """Return the exit code of several files in turn: of what ended the command, else of a change."""
    changed = (each for each in codes if each is not Exit.NOTHING_TO_DO)
    return next(changed, codes[0]) if codes[-1] in FINE else codes[-1]


def _describe(result: _Result) -> dict[str, Any]:
    work, end, claim = result.work, result.end, result.work.claim
    tried = work.search.tried if work.search is not None else []
    code = Exit(end.exit_code)
    return {
        "outcome": code.label,
        "exit_code": int(code),
        "path": work.path,
        "gain": round(claim.runs.gain, 3) if claim else None,
        "rewrites": list(claim.candidate.rewrites) if claim else [],
        "pairs": [list(each) for each in claim.runs.pairs] if claim else [],
        "won": claim.runs.won if claim else 0,
        "candidates": [
            {"rewrites": list(each.rewrites), "gain": round(each.gain, 3), "refused": each.refused}
            for each in tried
        ],
        "inputs": work.compared,
        "runs": work.runs,
        "asked": work.asked,
        "plot": str(result.plot or ""),
        "summary": end.summary,
        "verification": end.verification,
        "commit": end.commit,
    }


def _list_lines(result: _Result) -> list[str]:
    from packages.improve.optimize.report import format_table, plot_in_terminal

    work, end = result.work, result.end
    tried = work.search.tried if work.search is not None else []
    lines = [*format_table(tried), *filter(None, [plot_in_terminal(tried)])] if tried else []
    lines.append(end.summary)
    asked = f", {work.asked} questions to the model" if work.asked else ""
    lines.append(
        f"{len(tried)} candidates, {work.runs} runs of the metric, {work.compared} inputs compared{asked}"
    )
    lines += filter(None, [end.verification, f"commit {end.commit[:10]}" if end.commit else ""])
    return [*lines, *([f"plot: {result.plot}"] if result.plot else [])]

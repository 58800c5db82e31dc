"""`patchwright improve`: an agent project that changes itself, one confirmed step at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.exit_codes import Exit
from cli.commands.options import Flags, Folder, NoCommit, check_command_line, takes_flags
from cli.output.standard_streams import write_line
from packages.improve.commands.confined_session import run_in_session
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from packages.improve.commands.confined_session import ConfinedSession


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(improve)


@takes_flags
def improve(
    *,
    suite: Annotated[
        str,
        typer.Option(
            "--suite",
            metavar="COMMAND",
            help="Command that prints `ok NAME` or `not ok NAME # reason` for each case.",
            callback=lambda value: check_command_line(value, "--suite"),
        ),
    ],
    protect: Annotated[
        list[str] | None,
        typer.Option("--protect", metavar="GLOB", help="Further files that stay as they are; repeatable."),
    ] = None,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Most changes to try.")] = 5,
    folder: Folder = Path("."),
    model: Annotated[Flags, "model api_base"],
    place: Annotated[Flags, "sandbox test_command"],
    no_commit: NoCommit = False,
    limits: Annotated[Flags, "max_cost max_tokens"],
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Let a project solve more cases of its own suite.

    The failures are clustered, a model changes a worktree for the largest cluster, and the change is kept if the tests
    pass as before and the suite gains cases in two runs and loses none. Tests, suite and limits are never edited.
    """

    async def work(session: ConfinedSession) -> int:
        return await _improve(session, suite, protect or (), rounds, as_json=as_json)

    flags = {**model, **place, **limits}
    raise typer.Exit(run_in_session(work, folder, flags, commit=not no_commit, as_json=as_json))


async def _improve(
    session: ConfinedSession, suite: str, protected: Sequence[str], rounds: int, *, as_json: bool
) -> int:
    from agent.events import encode_line
    from packages.improve.commands.optimize import FINE
    from packages.improve.improvement.idea_archive import IdeaArchive
    from packages.improve.improvement.improvement import Improvement

    if session.runtime.model.name == "offline":
        raise UserError(Fault.CONFIGURATION, "improve needs a model that proposes changes: --model NAME")
    archive = IdeaArchive(session.project / "improve.jsonl")
    tries: Counter[str] = Counter()
    steps: list[dict[str, Any]] = []
    code, problem = Exit.NOTHING_TO_DO, ""
    for number in range(1, rounds + 1):
        work = Improvement(
            runtime=session.runtime,
            suite=suite,
            protected=protected,
            archive=archive,
            tell=session.tell,
            tries=tries,
        )
        end = await session.runtime.run_turn(f"Improve by {suite!r}, round {number}", work)
        reached = Exit(end.exit_code)
        if reached not in FINE:
            code, problem = reached, end.summary
            break
        if not work.cluster:
            break
        code = reached if work.is_kept else code
        gained = work.gained if work.is_kept else []
        steps.append({"cluster": work.cluster, "result": work.result, "gained": gained, "commit": end.commit})
    if as_json:
        data = {"outcome": code.label, "exit_code": int(code), "steps": steps, "log": str(archive.path)}
        data |= {"summary": problem}
        write_line(encode_line(data))
    else:
        lines = [f"{each['result']}{' ' + each['commit'][:10] if each['commit'] else ''}" for each in steps]
        lines = [*(lines or ["no change was kept"]), *filter(None, [problem]), f"log: {archive.path}"]
        write_line(sanitize_text("\n".join(lines)).encode("utf-8", "replace") + b"\n")
    return code

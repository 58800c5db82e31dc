"""`patchwright context tune`: proposals for the guideline and the thresholds, from recorded sessions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.app_dirs import Home, make_private_folder
from agent.workspace_root import find_workspace_root
from cli.commands.options import Folder
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from agent.context.compression import guideline_tuning
    from agent.events import Event
    from agent.model.protocol import Model


def add(app: typer.Typer) -> None:
    """Add these commands to the program's."""
    group = typer.Typer(
        rich_markup_mode=None, help="Tune how long histories are compacted.", no_args_is_help=True
    )
    group.callback()(_group)
    group.command()(tune)
    app.add_typer(group, name="context")


def _group() -> None:
    """Make `tune` a subcommand although it is the only one."""


def tune(
    pairs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FULL:SHORTENED]", help="Ids of two sessions with the same task."),
    ] = None,
    folder: Folder = Path("."),
    model: Annotated[
        str,
        typer.Option(
            "--model", "-m", metavar="NAME", help="Model that writes the proposal; by code if not given."
        ),
    ] = "",
    window: Annotated[
        int, typer.Option("--window", min=4000, help="Context window of the model, in tokens.")
    ] = 128_000,
    guideline: Annotated[
        Path | None,
        typer.Option("--guideline", metavar="FILE", help="Begin with this guideline, not the one in use."),
    ] = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Use the resulting guideline for summaries from now on.")
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Only check that the guideline is valid.")] = False,
    reset: Annotated[bool, typer.Option("--reset", help="Use the built-in guideline again.")] = False,
) -> None:
    """Propose changes to keep more history at less cost.

    With pairs (one succeeded with all of its history, one failed with a shortened one): an edit of the summaries'
    guideline, as a diff. Without: thresholds, tried on this project's sessions. Nothing is changed without --apply.
    """
    asked = GuidelineRequest(base=guideline, apply=apply, check=check, reset=reset)
    raise typer.Exit(propose_tuning(folder, pairs or [], model, window, asked))


@dataclass(frozen=True, slots=True, kw_only=True)
class GuidelineRequest:
    """Options on the guideline. base: a file in place of the one in use; apply: use the result from now on"""

    base: Path | None = None
    apply: bool = False
    check: bool = False
    reset: bool = False


GRID = [(recent, batch) for recent in (2_000, 2_500, 5_000) for batch in (4_000, 8_000, 16_000)]
"""Tokens of the newest history and of a batch."""

SESSIONS = 20
"""Newest sessions on which thresholds are tried: each is replayed once per entry of the grid."""


def propose_tuning(
    folder: Path, pairs: Sequence[str], model: str, window: int, guideline: GuidelineRequest
) -> int:
    """Print a diff of the guideline (with pairs of sessions) or better thresholds, tried on recorded sessions."""
    from agent.context.compression import summary
    from sandbox.process.bounded_end import run_loop

    home = Home.from_environment()
    own = home.config / summary.OWN_GUIDELINE
    if guideline.reset:
        return _reset_guideline(own)
    old = _read_guideline(guideline.base or own, required=guideline.base is not None)
    if guideline.check:
        print(sanitize_text(f"{guideline.base or (own if own.exists() else summary.GUIDELINE)} is valid"))
        return 0
    root, _ = find_workspace_root(folder, need_git=False)
    if pairs:
        sessions = home.get_project_folder(root) / "sessions"
        new = run_loop(_propose_guideline(home, sessions, pairs, model, old))
        return _apply_guideline(new, own) if guideline.apply else 0
    if guideline.apply:
        return _apply_guideline(old, own)
    return run_loop(_try_thresholds(home, root, window))


def _read_guideline(path: Path, *, required: bool) -> str:
    """Return the guideline of a file; the usual one if it does not exist and is not required. Raises UserError."""
    from agent.context.compression import summary

    if not required and not path.exists():
        return summary.GUIDELINE.read_text("utf-8")
    text = summary.read_own_guideline(path)
    if problem := summary.find_guideline_problem(text):
        raise UserError(
            Fault.CONFIGURATION,
            f"{str(path)!r} is no guideline: {problem}",
            f"Begin with a copy of {str(summary.GUIDELINE)!r}, or use that again: patchwright context tune --reset",
        )
    return text


def _apply_guideline(text: str, own: Path) -> int:
    """Write the user's guideline, which summaries follow from now on. Raises UserError."""
    from agent.context.compression import summary

    if problem := summary.find_guideline_problem(text):
        raise UserError(Fault.CONFIGURATION, f"the guideline is not applied: {problem}")
    make_private_folder(own.parent)
    own.write_text(text, "utf-8")
    print(sanitize_text(f"# applied: {own}"))
    return 0


def _reset_guideline(own: Path) -> int:
    own.unlink(missing_ok=True)
    print("# applied: the usual guideline")
    return 0


async def _propose_guideline(home: Home, sessions: Path, pairs: Sequence[str], model: str, old: str) -> str:
    """Print the facts that were lacking and the edit; return the edited guideline."""
    from agent.context.compression import guideline_tuning
    from cli.output.diff.print_diff import print_diff

    lacking = []
    for pair in pairs:
        whole, _, shortened = pair.partition(":")
        if not whole or not shortened:
            raise UserError(
                Fault.USAGE,
                f"{pair!r} is not a pair of sessions",
                "Like this: FULL:SHORTENED, two ids of sessions",
            )
        lacking += guideline_tuning.find_missing_facts(
            _read_events(sessions, whole), _read_events(sessions, shortened)
        )
    asked = _make_model(model, home) if model else None
    try:
        new = await guideline_tuning.propose_guideline(
            old, lacking, write=None if asked is None else _make_writer(asked)
        )
    finally:
        if asked is not None:
            await asked.close()
    for each in lacking:
        print(sanitize_text(f"# lacked: {each.kind} {each.word} (from {each.tool})"))
    if diff := guideline_tuning.diff_guidelines(old, new):
        print_diff(diff)
    else:
        print("# nothing to propose: the shortened runs lacked nothing")
    return new


async def _try_thresholds(home: Home, root: Path, window: int) -> int:
    from agent.context.compression import guideline_tuning
    from agent.session.log import read_events
    from agent.session.session_index import load_session_summaries
    from agent.session_settings import DEFAULT_CONTEXT, ContextSettings

    found = [each for each in load_session_summaries(home, root)[:SESSIONS] if each.steps > 1]
    if not found:
        raise UserError(
            Fault.USAGE, f"no session to learn from in {str(root)!r}", "Work with it first, or name pairs."
        )
    grid = [ContextSettings(recent=recent, batch=batch) for recent, batch in GRID]
    tried = await guideline_tuning.run_trials([list(read_events(each.path)) for each in found], grid, window)
    print(f"{len(found)} sessions, window {window:,}; cost against no compression, hard references visible")
    for each in tried:
        mark = "  (now)" if each.settings == DEFAULT_CONTEXT else ""
        limits = f"recent {each.settings.recent:>6,}  batch {each.settings.batch:>6,}"
        print(f"{limits}  {each.cost:6.1%}  {each.visible:6.1%}{mark}")
    if (chosen := guideline_tuning.choose_best_trial(tried)) is not None:
        print(f"\n[context]\nrecent = {chosen.settings.recent}\nbatch = {chosen.settings.batch}")
    return 0


def _read_events(sessions: Path, session: str) -> list[Event]:
    from agent.session.log import read_events

    try:
        return list(read_events(sessions / Path(session).name))
    except FileNotFoundError:
        raise UserError(
            Fault.USAGE, f"no session {session!r} in this project", "List them: patchwright sessions"
        ) from None


def _make_model(name: str, home: Home) -> Model:
    from agent.model.model_factory import resolve_model

    return resolve_model(name, os.environ.get("PATCHWRIGHT_API_BASE"), os.environ, home.cache)


def _make_writer(model: Model) -> guideline_tuning.Write:
    from agent.model.protocol import Request, UserMessage
    from agent.turn.side_calls import collect_reply

    async def write(prompt: str) -> str:
        reply = await collect_reply(model, Request(system="", messages=[UserMessage(text=prompt)]))
        return reply.text

    return write

"""`patchwright replay`: rebuild the requests of a session from its log and compare them with those sent."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.app_dirs import Home
from agent.exit_codes import Exit
from agent.workspace_root import find_workspace_root
from cli.commands.options import ApiBase, Folder
from cli.commands.options import Model as ModelOption
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from agent.events import Event, MessageEvent
    from agent.model.protocol import Model, Reply
    from agent.session.request_replay import ReplayedStep


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(replay)


def replay(
    session: Annotated[str, typer.Argument(metavar="ID", help="The session.")],
    folder: Folder = Path("."),
    until: Annotated[
        int | None, typer.Option("--until", metavar="STEP", min=1, help="Only up to this request.")
    ] = None,
    model: ModelOption = None,
    api_base: ApiBase = None,
    cassette: Annotated[
        Path | None,
        typer.Option("--cassette", metavar="FILE", help="Record it into a file for --model cassette:FILE."),
    ] = None,
) -> None:
    """Rebuild a session's requests; compare them with those sent.

    With --model, that model is sent the last of them, and its answer is compared with the one given then.
    """
    given = {"model": model, "api_base": api_base}
    flags = {name: value for name, value in given.items() if value is not None}
    raise typer.Exit(
        replay_session(folder, session, until=until, model=model, flags=flags, cassette=cassette)
    )


def replay_session(
    folder: Path,
    session: str,
    *,
    until: int | None,
    model: str | None,
    flags: Mapping[str, Any],
    cassette: Path | None,
) -> int:
    """Print each step; with a model, send it the last request. Returns the exit code. Raises UserError."""
    from agent.session.request_replay import replay_steps
    from sandbox.process.bounded_end import run_loop
    from tools.core.text import format_count

    home = Home.from_environment()
    root, _ = find_workspace_root(folder, need_git=False)
    found = list(
        _take_until(
            replay_steps(
                read_branch(home, root, session), home.get_project_folder(root) / "sessions" / session
            ),
            until,
        )
    )
    if not found:
        raise UserError(Fault.USAGE, f"session {session!r} has no request to replay")
    for step in found:
        print(sanitize_text(format_step(step)))
    differing = [step for step in found if step.changed_parts]
    if cassette is not None:
        from agent.model.scripted.cassette import write_cassette

        count = write_cassette(
            cassette, ((step.request.messages, rebuild_reply(step.reply)) for step in found)
        )
        print(
            sanitize_text(f"{format_count(count, 'call')} written to {cassette}: --model cassette:{cassette}")
        )
    if model is not None:
        made = _make_model_maker(home, root, flags)(model)
        print(sanitize_text(run_loop(_compare_replies(found[-1], made))))
    if differing:
        print(f"{format_count(len(differing), 'request')} of {len(found)} would be another one now")
    return int(Exit.NOT_ACHIEVED if differing else Exit.DONE)


def format_step(step: ReplayedStep) -> str:
    """Format a step on one line: number, size, whether the request is the same, result."""
    if step.changed_parts:
        same = f"differs in {', '.join(step.changed_parts)}"
    else:
        same = f"same {step.recorded.rpartition('.')[2][:8]}" if step.recorded else "not recorded"
    actions = ", ".join(action.tool for action in step.reply.actions)
    text = " ".join(step.reply.text.split())[:60]
    return f"{step.number:4}  {len(step.request.messages):4} messages  {same}  → {actions or text or '(nothing)'}"


def rebuild_reply(event: MessageEvent) -> Reply:
    """Rebuild the reply that was logged as a message."""
    from agent.model.protocol import Reply, Usage
    from tools.core.action import Action

    used = event.usage
    return Reply(
        text=event.text,
        reasoning=event.reasoning,
        actions=tuple(
            Action(id=each.id, tool=each.tool, arguments=each.arguments, raw=each.raw, problem=each.problem)
            for each in event.actions
        ),
        stop=event.stop,  # type: ignore[arg-type]
        usage=Usage(
            input=used.input, cached=used.cached, output=used.output, reasoning=used.reasoning, cost=used.cost
        ),
    )


def _take_until(found: Iterator[ReplayedStep], until: int | None) -> Iterator[ReplayedStep]:
    for step in found:
        if until is not None and step.number > until:
            return
        yield step


def read_branch(home: Home, root: Path, session: str) -> Iterator[Event]:
    """Read the current branch of a session's log, which may be open in another process."""
    from agent.session.log import read_events

    try:
        events = {
            event.id: event for event in read_events(home.get_project_folder(root) / "sessions" / session)
        }
    except FileNotFoundError:
        hint = "List them: patchwright sessions"
        raise UserError(Fault.USAGE, f"no session {session!r} in this project", hint) from None
    branch: list[Event] = []
    at = next(reversed(events), "")
    while at in events:
        branch.append(events[at])
        at = events[at].parent
    return reversed(branch)


def _make_model_maker(home: Home, root: Path, flags: Mapping[str, Any]) -> Callable[[str], Model]:
    from agent.model_selection import ModelSelection
    from cli.settings.layers import load_settings

    def make_model(name: str) -> Model:
        settings = load_settings(home, root, flags).session
        models = ModelSelection(settings=settings, env=os.environ, cache=home.cache)
        return models.create_model(name, lambda text: print(sanitize_text(text)))

    return make_model


async def _compare_replies(step: ReplayedStep, model: Model) -> str:
    """Compare another model's reply to the same request with the recorded one."""
    from agent.turn.side_calls import collect_reply

    try:
        reply = await collect_reply(model, step.request)
    finally:
        await model.close()
    then, now = _list_reply_lines(rebuild_reply(step.reply)), _list_reply_lines(reply)
    names = (f"{step.reply.model} (then)", f"{reply.model or model.name} (now)")
    difference = list(difflib.unified_diff(then, now, *names, lineterm="", n=99))
    return "\n".join(difference) or f"{model.name} says the same"


def _list_reply_lines(reply: Reply) -> Sequence[str]:
    import json

    calls = [
        f"→ {each.tool} {json.dumps(dict(each.arguments), ensure_ascii=False)}" for each in reply.actions
    ]
    return [*reply.text.splitlines(), *calls]

"""`patchwright agent-hooks`: programs that sessions run at their events. The hooks of git are `patchwright hook`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.app_dirs import Home
from agent.exit_codes import Exit
from agent.workspace_root import find_workspace_root
from cli.commands.options import Folder
from cli.output.standard_streams import print_json
from sandbox.errors import Fault, UserError
from sandbox.parsed_data import parse_json
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from agent.extension.hooks.hook_answer import HookAnswer
    from agent.extension.hooks.hook_definition import HookDefinition


def add(app: typer.Typer) -> None:
    """Add the group of commands to the program's."""
    app.add_typer(hooks_app, name="agent-hooks")
    hooks_app.callback(invoke_without_command=True)(agent_hooks)
    hooks_app.command("list")(list_)
    hooks_app.command("test")(try_)


hooks_app = typer.Typer(rich_markup_mode=None, help="Programs that a session runs at its events.")

AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]


def agent_hooks(context: typer.Context, folder: Folder = Path("."), as_json: AsJson = False) -> None:
    """Programs that a session runs at its events."""
    if context.invoked_subcommand is None:
        raise typer.Exit(list_hooks(folder, as_json=as_json))


def list_(folder: Folder = Path("."), as_json: AsJson = False) -> None:
    """List the hooks: yours, and those of a project that you trust."""
    raise typer.Exit(list_hooks(folder, as_json=as_json))


def try_(
    event: Annotated[str, typer.Argument(metavar="EVENT", help="Such as PreToolUse.")],
    folder: Folder = Path("."),
    tool: Annotated[
        str, typer.Option("--tool", metavar="NAME", help="Name that matchers see, such as Bash.")
    ] = "",
    given: Annotated[
        str, typer.Option("--input", metavar="JSON", help="Input of the tool, or fields of another event.")
    ] = "{}",
    as_json: AsJson = False,
) -> None:
    """Run the hooks of an event, and show what each answers. Exit 5 if one forbids."""
    raise typer.Exit(try_hooks(folder, event, tool, given, as_json=as_json))


def list_hooks(folder: Path, *, as_json: bool) -> int:
    """Print a line for each hook. Returns the exit code."""
    from agent.extension.hooks.hook_catalog import load_hooks

    root, _ = find_workspace_root(folder, need_git=False)
    catalog = load_hooks(Home.from_environment(), root)
    if as_json:
        print_json([_describe(each) for each in catalog.hooks])
        return int(Exit.DONE)
    for each in catalog.hooks:
        print(sanitize_text(f"{each.label}: {each.shown}  ({each.source})").replace("\n", " "))
    for line in catalog.notices:
        print(sanitize_text(f"patchwright: {line}"), file=sys.stderr)
    if not catalog.hooks:
        print("no agent hooks (hooks of git: patchwright hook)", file=sys.stderr)
    return int(Exit.DONE)


def try_hooks(folder: Path, event: str, tool: str, given: str, *, as_json: bool) -> int:
    """Run the hooks of an event that match and print their answers. Returns the exit code. Raises UserError."""

    from agent.extension.hooks.hook_definition import EVENTS
    from sandbox.process.bounded_end import run_loop

    if event not in EVENTS:
        raise UserError(Fault.USAGE, f"there is no event {event!r}", f"Events: {', '.join(EVENTS)}.")
    try:
        fields = parse_json(given)
    except ValueError as error:
        raise UserError(Fault.USAGE, f"--input is no JSON: {error}") from None
    if not isinstance(fields, dict):
        raise UserError(Fault.USAGE, "--input is no table", 'Write one: {"command": "ls"}')
    return run_loop(_try_hooks(folder, event, tool, fields, as_json=as_json))


async def _try_hooks(folder: Path, event: str, tool: str, given: Mapping[str, Any], *, as_json: bool) -> int:
    from agent.extension.hooks.hook_catalog import load_hooks
    from agent.extension.hooks.hook_runner import run_hook
    from agent.extension.hooks.session_hooks import build_common
    from cli.invocation import Invocation, load_invocation_settings, make_runtime

    home = Home.from_environment()
    invocation = Invocation(folder=folder, flags={"model": "offline"}, commit=False, offer_commit=False)
    runtime = make_runtime(invocation, home, load_invocation_settings(invocation, home).session)
    try:
        catalog = load_hooks(home, runtime.workspace.root)
        hooks = [each for each in catalog.hooks if each.event == event and each.matches((tool,), given)]
        fields = (
            {"tool_name": tool, "tool_input": dict(given), "tool_use_id": "test"} if tool else dict(given)
        )
        told = {**build_common(runtime, event), **fields}
        answers = [(each, await run_hook(runtime, each, told)) for each in hooks]
    finally:
        await runtime.close()
    if as_json:
        print_json([{**_describe(hook), **_describe_answer(answer)} for hook, answer in answers])
    else:
        for line in catalog.notices:
            print(sanitize_text(f"patchwright: {line}"), file=sys.stderr)
        for hook, answer in answers:
            print(sanitize_text(f"{hook.label}: {hook.shown}").replace("\n", " "))
            for key, value in _describe_answer(answer).items():
                if value:
                    print(sanitize_text(f"  {key}: {value}"))
        number = "1 hook" if len(answers) == 1 else f"{len(answers)} hooks"
        print(f"{number} of {event}{f' for {tool}' if tool else ''}")
    return int(Exit.DENIED if any(answer.verdict == "deny" for _, answer in answers) else Exit.DONE)


def _describe(hook: HookDefinition) -> dict[str, Any]:
    return {
        "event": hook.event,
        "matcher": hook.matcher,
        "type": hook.kind,
        "runs": hook.shown,
        "timeout": hook.timeout,
        "source": hook.source,
        "project": hook.is_project,
    }


def _describe_answer(answer: HookAnswer) -> dict[str, Any]:
    return {
        "verdict": answer.verdict,
        "reason": answer.reason,
        "input": dict(answer.arguments) if answer.arguments is not None else None,
        "context": answer.context,
        "stops": answer.stop,
        "message": answer.message,
        "failed": answer.problem,
    }

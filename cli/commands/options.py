"""Options shared by several commands: types, names and help texts."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from sandbox.errors import Fault, UserError


class Output(StrEnum):
    """Formats of standard output of `run`."""

    text = "text"
    json = "json"
    stream_json = "stream-json"


class Input(StrEnum):
    """Formats of standard input of `run`."""

    text = "text"
    stream_json = "stream-json"


class ModeOption(StrEnum):
    """Permission modes of a session."""

    read_only = "read-only"
    workspace = "workspace"
    full = "full"


class ApprovalOption(StrEnum):
    """Approval policies."""

    ask = "ask"
    auto = "auto"
    never = "never"


class SandboxOption(StrEnum):
    """Sandbox backends for commands."""

    auto = "auto"
    bubblewrap = "bubblewrap"
    landlock = "landlock"
    seatbelt = "seatbelt"
    container = "container"
    unconfined = "unconfined"


class EditFormat(StrEnum):
    """Formats of edits."""

    auto = "auto"
    blocks = "blocks"
    patch = "patch"
    diff = "diff"


Folder = Annotated[Path, typer.Option("-C", metavar="DIR", help="Work in this folder.")]
Model = Annotated[
    str | None,
    typer.Option("--model", "-m", metavar="NAME", help="PROVIDER/NAME, gguf:FILE, or offline."),
]
ApiBase = Annotated[
    str | None, typer.Option("--api-base", metavar="URL", help="Base URL of an OpenAI-compatible server.")
]
Mode = Annotated[ModeOption | None, typer.Option("--mode", help="Permission mode of the session.")]
Sandbox = Annotated[SandboxOption | None, typer.Option("--sandbox", help="Sandbox for commands.")]


def check_command_line(command: str | None, option: str = "--tests") -> str | None:
    """Return a shell's command line. Raises UserError if a quote in it is not closed."""
    import shlex

    try:
        shlex.split(command or "", comments=True)
    except ValueError as error:
        raise UserError(
            Fault.USAGE,
            f"{option} is no command line: {str(error).lower()} in {command!r}",
            f"Close the quote, and put all of it in others: {option} \"pytest -k 'cart and total'\"",
        ) from None
    return command


Tests = Annotated[
    str | None,
    typer.Option(
        "--tests",
        metavar="COMMAND",
        help="Command that runs the tests; detected if not given.",
        callback=lambda value: check_command_line(value),
    ),
]
NoCommit = Annotated[bool, typer.Option("--no-commit", help="Leave the changes uncommitted.")]
OutputOption = Annotated[Output, typer.Option("--output", "-o", help="Format of standard output.")]


class ActionsOption(StrEnum):
    """Action formats of the model."""

    tools = "tools"
    code = "code"
    hybrid = "hybrid"


Actions = Annotated[
    ActionsOption | None, typer.Option("--actions", help="Action format: tool calls, Python code, or both.")
]


class LeadOption(StrEnum):
    """When the harness leads a turn about failing tests."""

    auto = "auto"
    always = "always"
    never = "never"


Lead = Annotated[
    LeadOption | None,
    typer.Option("--lead", help="When the harness leads work on failing tests: for models that get nowhere."),
]
MaxSteps = Annotated[int | None, typer.Option("--max-steps", min=1, help="Stop after so many steps.")]
MaxCost = Annotated[
    float | None,
    typer.Option("--max-cost", min=0, help="Stop before the call that would pass this many dollars."),
]
MaxTime = Annotated[float | None, typer.Option("--max-time", min=0, help="Stop after so many seconds.")]
MaxTokens = Annotated[int | None, typer.Option("--max-tokens", min=1, help="Stop after so many tokens.")]
FailingTests = Annotated[
    list[str] | None,
    typer.Option("--tests", metavar="TEST", help="Failing test id, file or folder, or `all`; repeatable."),
]

Flags = Mapping[str, Any]
"""Values of options as a settings layer: those that were given, by name in `FLAGS`."""

FLAGS: Mapping[str, Any] = {
    "model": Model,
    "api_base": ApiBase,
    "mode": Mode,
    "sandbox": Sandbox,
    "test_command": Tests,
    "actions": Actions,
    "lead": Lead,
    "max_steps": MaxSteps,
    "max_cost": MaxCost,
    "max_time": MaxTime,
    "max_tokens": MaxTokens,
}
"""Options of sessions, by the name of the flag in a settings layer."""


def takes_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the options that the annotations of its parameters of type `Flags` name.

    `flags: Annotated[Flags, "model mode"]` stands for `--model` and `--mode`, at its place in the help.
    """
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, list[str]] = {}
    parameters: list[inspect.Parameter] = []
    for each in signature.parameters.values():
        names = getattr(each.annotation, "__metadata__", (None,))[0]
        if not isinstance(names, str):
            parameters.append(each)
            continue
        groups[each.name] = names.split()
        parameters += [
            each.replace(name=name, annotation=FLAGS[name], default=None) for name in groups[each.name]
        ]

    @functools.wraps(command)
    def take(**given: Any) -> None:
        for group, names in groups.items():
            given[group] = collect_flags(**{name: given.pop(name) for name in names})
        command(**given)

    take.__annotations__ = {each.name: each.annotation for each in parameters}
    take.__dict__["__signature__"] = signature.replace(parameters=parameters)
    return take


def collect_flags(**values: object) -> dict[str, object]:
    """Return the flags that were given, as a settings layer (enum members as their text)."""
    return {
        key: value.value if isinstance(value, StrEnum) else value
        for key, value in values.items()
        if value is not None
    }

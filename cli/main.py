"""The command line: `patchwright` and its subcommands. Imports nothing heavy until a command needs it."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from patchwright.version import VERSION


class Output(StrEnum):
    """What `run` writes to standard output."""

    text = "text"
    json = "json"
    stream_json = "stream-json"


class ModeOption(StrEnum):
    """How far a session may reach."""

    read_only = "read-only"
    workspace = "workspace"
    full = "full"


class ApprovalOption(StrEnum):
    """Who is asked."""

    ask = "ask"
    auto = "auto"
    never = "never"


class SandboxOption(StrEnum):
    """What confines commands."""

    auto = "auto"
    bubblewrap = "bubblewrap"
    landlock = "landlock"
    seatbelt = "seatbelt"
    container = "container"
    unconfined = "unconfined"


class EditFormat(StrEnum):
    """How edits are written."""

    auto = "auto"
    blocks = "blocks"
    patch = "patch"
    diff = "diff"


Folder = Annotated[Path, typer.Option("-C", metavar="DIR", help="Work in this folder.")]
Model = Annotated[
    str | None,
    typer.Option("--model", "-m", metavar="NAME", help="PROVIDER/NAME, scripted:FILE, or offline."),
]
ApiBase = Annotated[
    str | None, typer.Option("--api-base", metavar="URL", help="Base URL of an OpenAI-compatible server.")
]
Mode = Annotated[ModeOption | None, typer.Option("--mode", help="How far the session may reach.")]
Sandbox = Annotated[SandboxOption | None, typer.Option("--sandbox", help="What confines commands.")]
Tests = Annotated[
    str | None, typer.Option("--tests", metavar="COMMAND", help="How to run the tests; found if not given.")
]
NoCommit = Annotated[bool, typer.Option("--no-commit", help="Leave the changes uncommitted.")]
OutputOption = Annotated[Output, typer.Option("--output", "-o", help="What to write to standard output.")]
MaxSteps = Annotated[int | None, typer.Option("--max-steps", min=1, help="Stop after so many steps.")]
MaxCost = Annotated[
    float | None,
    typer.Option("--max-cost", min=0, help="Stop before the call that would pass this many dollars."),
]
MaxTime = Annotated[float | None, typer.Option("--max-time", min=0, help="Stop after so many seconds.")]
MaxTokens = Annotated[int | None, typer.Option("--max-tokens", min=1, help="Stop after so many tokens.")]

app = typer.Typer(
    name="patchwright",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    folder: Folder = Path("."),
    prompt: Annotated[
        str | None, typer.Option("-p", "--prompt", metavar="PROMPT", help="Run one prompt, as `run` does.")
    ] = None,
    model: Model = None,
    api_base: ApiBase = None,
    mode: Mode = None,
    sandbox: Sandbox = None,
    tests: Tests = None,
    no_commit: NoCommit = False,
    output: OutputOption = Output.text,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """A coding agent for the command line: edits, tests, commits; with any model, or with none.

    Without a command it opens an interactive session.
    """
    if version:
        print(f"patchwright {VERSION}")
        raise typer.Exit
    if context.invoked_subcommand is not None:
        _refuse_misplaced(context)
        return
    flags = _flags(model=model, api_base=api_base, mode=mode, sandbox=sandbox, test_command=tests)
    if prompt is not None or not sys.stdin.isatty():
        from cli.run import one_shot

        raise typer.Exit(one_shot(folder, prompt, flags, output=output.value, commit=not no_commit))
    from cli.interactive import interactive

    raise typer.Exit(interactive(folder, flags, session="", commit=not no_commit))


@app.command()
def run(
    prompt: Annotated[
        str | None, typer.Argument(metavar="PROMPT", help="What to do; `-` or nothing reads standard input.")
    ] = None,
    option_prompt: Annotated[
        str | None, typer.Option("-p", "--prompt", metavar="PROMPT", hidden=True)
    ] = None,
    folder: Folder = Path("."),
    model: Model = None,
    api_base: ApiBase = None,
    output: OutputOption = Output.text,
    mode: Mode = None,
    sandbox: Sandbox = None,
    tests: Tests = None,
    no_commit: NoCommit = False,
    session: Annotated[
        str, typer.Option("--session", metavar="ID", help="Go on in this session instead of a new one.")
    ] = "",
    max_steps: MaxSteps = None,
    max_cost: MaxCost = None,
    max_time: MaxTime = None,
    max_tokens: MaxTokens = None,
) -> None:
    """Do one task without asking anything, then exit with a code that says how it went."""
    from cli.run import one_shot

    flags = _flags(
        model=model,
        api_base=api_base,
        mode=mode,
        sandbox=sandbox,
        test_command=tests,
        max_steps=max_steps,
        max_cost=max_cost,
        max_time=max_time,
        max_tokens=max_tokens,
    )
    if prompt is not None and option_prompt is not None:
        raise typer.BadParameter("two prompts: give one, as PROMPT or with -p")
    text = prompt if prompt is not None else option_prompt
    raise typer.Exit(
        one_shot(folder, text, flags, output=output.value, commit=not no_commit, session=session)
    )


@app.command()
def resume(
    session: Annotated[
        str, typer.Argument(metavar="[ID]", help="The session; the newest of this project if not given.")
    ] = "",
    prompt: Annotated[
        str | None, typer.Option("-p", "--prompt", metavar="PROMPT", help="Say this, instead of going on.")
    ] = None,
    folder: Folder = Path("."),
    model: Model = None,
    api_base: ApiBase = None,
    output: OutputOption = Output.text,
    mode: Mode = None,
    sandbox: Sandbox = None,
    tests: Tests = None,
    no_commit: NoCommit = False,
) -> None:
    """Go on with a session: an unfinished turn is continued, a finished one waits for your next words."""
    from cli.sessions import resume_session

    flags = _flags(model=model, api_base=api_base, mode=mode, sandbox=sandbox, test_command=tests)
    raise typer.Exit(
        resume_session(folder, session, prompt, flags, output=output.value, commit=not no_commit)
    )


@app.command()
def sessions(
    folder: Folder = Path("."),
    all_projects: Annotated[bool, typer.Option("--all", help="Of every project.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON lines.")] = False,
) -> None:
    """List the sessions of this project, the newest first."""
    from cli.sessions import list_sessions

    raise typer.Exit(list_sessions(folder, all_projects=all_projects, as_json=as_json))


@app.command()
def apply(
    patch: Annotated[
        str, typer.Argument(metavar="FILE", help="File with the edits; `-` reads standard input.")
    ],
    folder: Folder = Path("."),
    check: Annotated[bool, typer.Option("--check", help="Say what would happen, write nothing.")] = False,
    exact: Annotated[bool, typer.Option("--exact", help="Only edits that fit to the letter.")] = False,
    form: Annotated[
        EditFormat, typer.Option("--format", help="Format of the edits; found out if not given.")
    ] = EditFormat.auto,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Apply edits to the files of a folder: all of them, or none. Needs no model and no repository.

    Formats: SEARCH/REPLACE blocks, *** Begin Patch, unified diff.
    """
    from cli.apply import apply_edits

    raise typer.Exit(apply_edits(folder, patch, form=form.value, check=check, exact=exact, as_json=as_json))


@app.command()
def symbols(
    action: Annotated[
        str,
        typer.Argument(
            metavar="ACTION",
            help="outline, find, show, references, callers, callees, imports, similar or tests.",
        ),
    ],
    target: Annotated[
        str, typer.Argument(metavar="[TARGET]", help="A name, a path, or for `similar` a text.")
    ] = "",
    folder: Folder = Path("."),
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Ask where a name is defined, used or called, and what a file defines, imports and is tested by."""
    from cli.code import symbols as ask

    raise typer.Exit(ask(folder, action, target, as_json=as_json))


@app.command()
def doctor(
    folder: Folder = Path("."),
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Say what was found (git, sandbox, ripgrep, models, terminal), what is missing and how to get it."""
    from cli.doctor import doctor as examine

    raise typer.Exit(examine(folder, as_json=as_json))


@app.command()
def demo(
    folder: Annotated[
        Path | None, typer.Option("-C", metavar="DIR", help="Put the example project here, and keep it.")
    ] = None,
    model: Model = None,
    api_base: ApiBase = None,
) -> None:
    """Fix the failing tests of an example project, before your eyes."""
    from cli.demo import demo as show

    raise typer.Exit(show(folder, model=model or "offline", api_base=api_base))


@app.command()
def trust(
    folder: Folder = Path("."),
    list_only: Annotated[
        bool, typer.Option("--list", help="Show it, and what else is trusted; trust nothing.")
    ] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Trust it no more.")] = False,
) -> None:
    """Let a repository's own hooks, filters and signing programs run when Patchwright commits, and show them."""
    from cli import trust as trusting

    if list_only and revoke:
        raise typer.BadParameter("--list and --revoke: give one of them")
    act = trusting.show if list_only else trusting.revoke if revoke else trusting.grant
    raise typer.Exit(act(folder))


policy_app = typer.Typer(
    rich_markup_mode=None, help="What the policy says to a command.", no_args_is_help=True
)
app.add_typer(policy_app, name="policy")


@policy_app.command()
def check(
    command: Annotated[str, typer.Argument(metavar="COMMAND", help="A shell command, as one argument.")],
    folder: Folder = Path("."),
    mode: Mode = None,
    sandbox: Sandbox = None,
    approval: Annotated[
        ApprovalOption | None,
        typer.Option("--approval", help="Who would be asked; as in a session if not given."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Explain, without running it, what a command would do and whether it may: exit 0 if it may, 5 if not unasked."""
    from cli.policy import check as explain

    flags = _flags(mode=mode, sandbox=sandbox, approval=approval)
    raise typer.Exit(explain(folder, command, flags, as_json=as_json))


@app.command()
def init(
    folder: Folder = Path("."),
    force: Annotated[bool, typer.Option("--force", help="Replace an AGENTS.md that is there.")] = False,
    show: Annotated[bool, typer.Option("--print", help="Print the draft, write nothing.")] = False,
) -> None:
    """Draft an AGENTS.md from what the repository shows: commands, layout, conventions."""
    from cli.init import init as draft

    raise typer.Exit(draft(folder, force=force, show=show))


def _refuse_misplaced(context: typer.Context) -> None:
    """An option before the command would be lost, and `--mode read-only` with it."""
    from sandbox.errors import Fault, UserError

    for each in context.command.params:
        source = context.get_parameter_source(each.name or "")
        if source is not None and source.name == "COMMANDLINE":
            option, command = each.opts[0], context.invoked_subcommand
            raise UserError(
                Fault.USAGE,
                f"{option} stands before the command {command!r}, where it has no effect",
                f"Put it after: patchwright {command} {option} …",
            )


def _flags(**values: object) -> dict[str, object]:
    """Flags that were given, as settings layers want them (enum members as their text)."""
    return {
        key: value.value if isinstance(value, StrEnum) else value
        for key, value in values.items()
        if value is not None
    }


def main() -> None:
    """Entry point: a user's mistake ends in one clear line and its own exit code, a fault of ours in another."""
    from cli.report import tell
    from cli.streams import open_missing, silence

    open_missing()
    try:
        try:
            app(prog_name="patchwright")
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # `| head` has seen enough
        silence(sys.stdout)
    except SystemExit as end:
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        silence(sys.stdout)  # typer's own way of saying the same
    except Exception as error:
        if isinstance(error, OSError):
            silence(sys.stdout)  # what it still holds would fail once more on the way out
        sys.exit(tell(error))

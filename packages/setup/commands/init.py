"""`patchwright init`: draft an AGENTS.md from the repository's files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from agent.exit_codes import Exit
from agent.workspace_root import find_workspace_root
from cli.commands.options import Folder
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(init)


def init(
    folder: Folder = Path("."),
    force: Annotated[bool, typer.Option("--force", help="Replace an existing AGENTS.md.")] = False,
    show: Annotated[bool, typer.Option("--print", help="Print the draft, write nothing.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Check the present AGENTS.md or CLAUDE.md; write nothing.")
    ] = False,
    tries: Annotated[
        bool, typer.Option("--run", help="Run the commands, confined and without writing; keep what works.")
    ] = False,
    rule: Annotated[
        str | None, typer.Option("--rule", metavar="TEXT", help="Add one rule to AGENTS.md, nothing else.")
    ] = None,
) -> None:
    """Draft an AGENTS.md from the repository's files.

    Commands, layout, conventions, in at most 40 lines. --check looks for commands that cannot work any more, paths that
    are gone, contradictions and length.
    """
    if check + show + (rule is not None) > 1:
        raise typer.BadParameter("give one of --check, --print and --rule")
    if rule is not None:
        raise typer.Exit(add_rule(folder, rule))
    if check:
        raise typer.Exit(check_project(folder, tries=tries))
    raise typer.Exit(init_project(folder, force=force, show=show, tries=tries))


def add_rule(folder: Path, rule: str) -> int:
    """Add one rule to the instructions of the repository around `folder`. Raises UserError."""
    from packages.setup.init.agents_file import append_rule

    if not rule.strip():
        raise typer.BadParameter("the rule is empty", param_hint="--rule")
    root, _ = find_workspace_root(folder, need_git=False)
    print(f"added to {sanitize_text(append_rule(root, rule).name)}")
    return 0


def check_project(folder: Path, *, tries: bool) -> int:
    """Print what is to be mended in the instructions of the repository around `folder`.

    tries: run their commands, confined. Returns NOT_ACHIEVED if anything is wrong. Raises UserError.
    """
    from cli.repository_files import list_files
    from packages.setup.init.instruction_lint import check_instructions, list_commands
    from sandbox.fs.untrusted_file import read_workspace_text
    from sandbox.policy.foreign_stores import refuse_foreign_stores

    root, _ = find_workspace_root(folder, need_git=False)
    refuse_foreign_stores(root)
    names = [each for each in ("AGENTS.md", "CLAUDE.md") if (root / each).is_file()]
    if not names:
        raise UserError(
            Fault.USAGE, "there is no AGENTS.md or CLAUDE.md to check", "Draft one: patchwright init"
        )
    files = list_files(root)
    wrong = False
    for name in names:
        for each in check_instructions(root, name, files):
            wrong |= not each.is_advice
            place = f"{name}:{each.line}" if each.line else name
            print(sanitize_text(f"{place}: {each.text}"))
        if tries:
            from packages.setup.init.command_trial import run_trials

            commands = list_commands(read_workspace_text(root, name, 1_000_000))
            lines = {command: line for line, command in reversed(commands)}
            for trial in run_trials(root, [command for _, command in commands]):
                wrong |= bool(trial.problem)
                end = trial.problem or (f"not run: {trial.unrun}" if trial.unrun else "works")
                print(sanitize_text(f"{name}:{lines[trial.command]}: `{trial.command}`: {end}"))
    if not wrong:
        print("nothing is wrong in " + " and ".join(names))
    return int(Exit.NOT_ACHIEVED if wrong else Exit.DONE)


def init_project(folder: Path, *, force: bool, show: bool, tries: bool = False) -> int:
    """Write the draft into the repository around `folder`, or print it. Raises UserError. tries: see `build_draft`"""
    from packages.setup.init.agents_file import build_draft, write_draft
    from sandbox.policy.foreign_stores import refuse_foreign_stores

    root, _ = find_workspace_root(folder, need_git=False)
    refuse_foreign_stores(root)
    if show:
        sys.stdout.write(build_draft(root, tries=tries))
        return 0
    path = write_draft(root, force=force, tries=tries)
    print(
        f"{sanitize_text(str(path))} is a draft: correct it, add what no file tells (what must stay secret, safe or"
        " fast), and commit it."
    )
    return 0

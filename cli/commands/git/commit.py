"""`patchwright commit`: commit the staged changes with a message in the log's style, with or without a model."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.exit_codes import Exit
from cli.commands.options import Flags, Folder, takes_flags
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from tools.git.git_process import Git


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(commit)


@takes_flags
def commit(
    *,
    folder: Folder = Path("."),
    flags: Annotated[Flags, "model api_base"],
    show: Annotated[bool, typer.Option("--print", help="Print the message, commit nothing.")] = False,
    edit: Annotated[
        bool, typer.Option("--edit", "-e", help="Open the message in your editor first.")
    ] = False,
) -> None:
    """Commit staged changes, with a message in the log's style."""
    raise typer.Exit(commit_staged(folder, flags, show=show, edit=edit))


def commit_staged(folder: Path, flags: Mapping[str, Any], *, show: bool, edit: bool) -> int:
    """Commit the staged changes with a generated message. Returns the exit code.

    show: print the message and commit nothing; edit: open it in the user's editor first
    """
    from dataclasses import replace

    from agent.model.routing.roles import Role
    from cli.commands.git.model_text import ask_model, read_diff_excerpt
    from sandbox.fs.repository import read_branch
    from sandbox.secrets.child_environment import redact
    from tools.git.git_change import read_staged_change
    from tools.git.git_process import Git
    from tools.git.messages.message_prompts import build_message_prompt
    from tools.git.messages.message_style import add_ticket, find_ticket, finish_message, learn_style
    from tools.git.messages.message_summary import compose_message
    from tools.git.messages.model_message import judge_message, parse_message

    git = Git.from_folder(folder)
    change = read_staged_change(git)
    if not change.files:
        print("patchwright: nothing is staged: git add what is to be committed", file=sys.stderr)
        return int(Exit.NOTHING_TO_DO)
    style = learn_style(git)
    prompt = build_message_prompt(style, read_diff_excerpt(git, "--cached"))
    ticket = find_ticket(read_branch(git.root))
    answer = parse_message(ask_model(git, flags, prompt, "commit message", Role.FAST))
    answer = replace(answer, subject=add_ticket(answer.subject, style, ticket))
    message = str(answer) if judge_message(answer, change, style, "") else ""
    message = redact(message or compose_message(change, style, ticket))
    committer = git.run_text("var", "GIT_COMMITTER_IDENT", ok=range(256))
    message = finish_message(message, style, committer).rstrip() + "\n"
    if show:
        print(sanitize_text(message), end="")
        return int(Exit.DONE)
    if read_staged_change(git).files != change.files:
        print(
            "patchwright: nothing was committed: what is staged changed meanwhile. Try again.",
            file=sys.stderr,
        )
        return int(Exit.NOT_ACHIEVED)
    return _run_git_commit(git, message, edit=edit and sys.stdin.isatty())


def _run_git_commit(git: Git, message: str, *, edit: bool) -> int:
    """Run `git commit` with the user's hooks, signing and identity, and without the filters and signing programs of a
    repository that is not trusted."""
    import tempfile

    from agent.app_dirs import Home
    from sandbox.helpers.git_runner import QUIET, run_in_terminal
    from sandbox.helpers.own_programs import build_search_path
    from sandbox.policy.foreign_stores import refuse_foreign_stores
    from sandbox.policy.trust import TrustStore
    from tools.git.broker import Broker
    from tools.git.repository_programs import format_warning

    broker = Broker(git.root, TrustStore(Home.from_environment().config).create_check(git.root))
    refuse_foreign_stores(git.root)
    untrusted = [each for each in broker.untrusted_definitions if each.kind == "setting"]
    if warning := format_warning(untrusted):
        print(f"patchwright: {sanitize_text(warning)}", file=sys.stderr)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", errors="replace", suffix=".txt") as file:
        file.write(message)
        file.flush()
        how = ["--edit"] if edit else ["--cleanup=whitespace"]
        path = os.environ.get("PATH", os.defpath) if _has_hooks(git) else build_search_path(git.root)
        # git's own variables stay: they may be what the user set before.
        environment = {**os.environ, "PATH": path, **broker.replacement_environment}
        # The message is UTF-8, whatever the user's own commits are written in.
        options = (*QUIET[1:], *("-c", "i18n.commitEncoding=UTF-8"), "commit", *how, f"--file={file.name}")
        code = run_in_terminal(git.root, *options, environment=environment)
    return int(Exit.DONE if code == 0 else Exit.NOT_ACHIEVED)


def _has_hooks(git: Git) -> bool:
    """Return whether the user has hooks; they may need the whole PATH."""
    configured = git.read_setting("core.hooksPath", "path")
    folder = Path(git.root, configured or f"{git.run_text('rev-parse', '--git-common-dir')}/hooks")
    return folder.is_dir() and any(each.suffix != ".sample" for each in folder.iterdir())

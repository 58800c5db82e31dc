"""`patchwright demo`: fix, test and commit an example project with real bugs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.commands.options import ApiBase, Model


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(demo)


def demo(
    folder: Annotated[
        Path | None, typer.Option("-C", metavar="DIR", help="Put the example project here, and keep it.")
    ] = None,
    model: Model = None,
    api_base: ApiBase = None,
) -> None:
    """Fix an example project's failing tests while you watch."""
    raise typer.Exit(run_demo(folder, model=model or "offline", api_base=api_base))


PROMPT = "make the failing tests pass"


def run_demo(folder: Path | None, *, model: str, api_base: str | None) -> int:
    """Copy the example project, run the agent on it, and show the result with git commands."""
    import tempfile

    from cli.commands.run.one_shot import run_one_shot
    from cli.commands.setup.demo_repository import create_demo_repository

    keep = folder is not None
    with tempfile.TemporaryDirectory(prefix="patchwright-demo-", ignore_cleanup_errors=True) as temporary:
        target = folder if folder is not None else Path(temporary) / "ledger"
        repository = create_demo_repository(target)
        _print_flushed(f"An example project stands in {repository}. Its history:")
        _run_git(repository, "log", "--oneline", "--no-decorate")
        _print_flushed(f'\n$ patchwright run "{PROMPT}" -C {repository} --model {model}\n')
        flags = {"model": model} | ({"api_base": api_base} if api_base else {})
        code = run_one_shot(repository, PROMPT, flags, output="text", commit=True)
        _print_flushed("\n$ git show --stat HEAD")
        _run_git(repository, "show", "--stat", "HEAD")
        _print_flushed("\n$ git status --short")
        _run_git(repository, "status", "--short")
        if keep:
            _print_flushed(f"\nThe project is yours to look at: {repository}")
    return code


def _print_flushed(text: str) -> None:
    print(text, flush=True)


def _run_git(repository: Path, *arguments: str) -> None:
    from sandbox.helpers.git_runner import run_in_terminal

    sys.stdout.flush()
    run_in_terminal(repository, "--no-pager", *arguments)

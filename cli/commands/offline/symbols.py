"""`patchwright symbols`, `localize` and `map`: queries of the code index of a folder."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from agent.app_dirs import Home
from agent.exit_codes import Exit
from cli.commands.options import FailingTests, Folder
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from tools.code.index.code_index import Index


def add(app: typer.Typer) -> None:
    """Declare the commands of this theme."""
    app.command()(symbols)
    app.command()(localize)
    app.command(name="map")(map_)


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
    """Ask where a name is defined, used or called.

    Or which names a file defines and imports, and which tests its change may affect.
    """
    raise typer.Exit(query_symbols(folder, action, target, as_json=as_json))


def localize(
    text: Annotated[
        str | None,
        typer.Argument(metavar="[TEXT]", help="An issue, a stack trace; `-` reads standard input."),
    ] = None,
    issue: Annotated[
        Path | None, typer.Option("--issue", metavar="FILE", help="Read the text from a file.")
    ] = None,
    tests: FailingTests = None,
    folder: Folder = Path("."),
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Find the code that a text or failing tests point to.

    Which files and functions a text speaks of, or which lines make tests fail. Needs no model.
    """
    if tests:
        if text is not None or issue is not None:
            raise typer.BadParameter("give either a text or --tests")
        from sandbox.extensions import load_extension

        raise typer.Exit(load_extension("reports", "failing_tests")(folder, tests, as_json=as_json))
    raise typer.Exit(localize_issue(folder, text, issue, as_json=as_json))


def map_(
    text: Annotated[
        str, typer.Argument(metavar="[TEXT]", help="Topic; the whole project if not given.")
    ] = "",
    tokens: Annotated[
        int, typer.Option("--tokens", min=100, help="Size of the map in tokens, about.")
    ] = 2000,
    folder: Folder = Path("."),
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show the main files and their symbols that others use."""
    raise typer.Exit(show_map(folder, text, tokens, as_json=as_json))


Answered = TypeVar("Answered")


def query_symbols(folder: Path, action: str, target: str, *, as_json: bool) -> int:
    """Print the answer to a query. Returns DONE, or NOTHING_TO_DO if nothing was found. Raises UserError."""
    import json

    from tools.code.index.query_answers import answer_query

    found = query_folder(folder, lambda index: answer_query(index, action, target))
    print(json.dumps(found.data) if as_json else sanitize_text(found.text))
    return Exit.NOTHING_TO_DO if found.empty else Exit.DONE


def localize_issue(folder: Path, text: str | None, issue: Path | None, *, as_json: bool) -> int:
    """Print code that resembles the text of an issue. Returns DONE or NOTHING_TO_DO. Raises UserError."""
    import json

    from tools.code.localization import localize_text

    wanted = _read_issue_text(text, issue)
    found = query_folder(folder, lambda index: localize_text(index, wanted))
    print(json.dumps(found.data) if as_json else sanitize_text(found.text))
    return Exit.DONE if found.files else Exit.NOTHING_TO_DO


def show_map(folder: Path, text: str, tokens: int, *, as_json: bool) -> int:
    """Print the map of a folder. Returns DONE, or NOTHING_TO_DO if no code is indexed. Raises UserError."""
    import json

    from tools.code.localization import build_map_answer

    found = query_folder(folder, lambda index: build_map_answer(index, text, tokens))
    print(json.dumps(found.data) if as_json else sanitize_text(found.text))
    return Exit.NOTHING_TO_DO if found.empty else Exit.DONE


def _read_issue_text(text: str | None, issue: Path | None) -> str:
    if (text is None) == (issue is None):
        raise UserError(Fault.USAGE, "localize: give a TEXT or --issue FILE", "`-` reads standard input.")
    if issue is not None:
        try:
            wanted = issue.read_bytes().decode("utf-8", "replace")
        except OSError as error:
            raise UserError(Fault.USAGE, f"cannot read {str(issue)!r}: {error.strerror}") from None
    else:
        wanted = sys.stdin.read() if text == "-" else text or ""
    if not wanted.strip():
        raise UserError(
            Fault.USAGE, "localize: the text is empty", "Give an issue, a question or a stack trace."
        )
    return wanted


def query_folder(folder: Path, question: Callable[[Index], Answered]) -> Answered:
    """Query the index of the workspace that contains a folder. Raises UserError."""
    from agent.workspace_root import find_workspace_root
    from tools.code.index.code_index import ask_index

    root, _ = find_workspace_root(folder, need_git=False)
    return ask_index(root, Home.from_environment().cache, (), question)

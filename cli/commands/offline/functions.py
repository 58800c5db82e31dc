"""`patchwright functions`: list, search, show, verify and remove functions saved for later sessions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.app_dirs import Home
from agent.exit_codes import Exit
from agent.workspace_root import find_workspace_root
from cli.commands.group import ListingGroup
from cli.commands.options import Folder, Sandbox, collect_flags
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from tools.kernel.saved_functions import SavedFunction


def add(app: typer.Typer) -> None:
    """Add these commands to the program's."""
    kept = typer.Typer(rich_markup_mode=None, help="Functions saved in earlier sessions.", cls=ListingGroup)
    app.add_typer(kept, name="functions")
    kept.command("list")(functions_list)
    kept.command("show")(functions_show)
    kept.command("verify")(functions_verify)
    kept.command("remove")(functions_remove)


def functions_list(
    query: Annotated[
        str, typer.Argument(metavar="[WORDS]", help="Only functions that contain all these words.")
    ] = "",
    folder: Folder = Path("."),
    as_json: Annotated[bool, typer.Option("--json", help="As JSON lines.")] = False,
) -> None:
    """List or search the functions of this project and its user."""
    raise typer.Exit(list_functions(folder, query, as_json=as_json))


def functions_show(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    folder: Folder = Path("."),
) -> None:
    """Show the source of a function and of its test."""
    raise typer.Exit(show_function(folder, name))


def functions_verify(
    folder: Folder = Path("."),
    sandbox: Sandbox = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON lines.")] = False,
) -> None:
    """Run the tests of all functions again.

    One that fails is not offered until it passes. Exit 1 if one fails.
    """
    raise typer.Exit(verify_functions(folder, collect_flags(sandbox=sandbox), as_json=as_json))


def functions_remove(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    folder: Folder = Path("."),
) -> None:
    """Remove a saved function."""
    raise typer.Exit(remove_function(folder, name))


def find_function_folders(folder: Path) -> Mapping[str, Path]:
    """Return the folders of the project's and the user's functions."""
    home, (root, _) = Home.from_environment(), find_workspace_root(folder, need_git=False)
    return {"project": home.get_project_folder(root) / "functions", "user": home.data / "functions"}


def list_functions(folder: Path, query: str, *, as_json: bool) -> int:
    """Print the functions that contain all words of the query. Returns DONE, or NOTHING_TO_DO if there are none."""
    from tools.kernel.saved_functions import load_all_functions, search_functions

    found = search_functions(load_all_functions(find_function_folders(folder)), query)
    for each in found:
        _print_function(each, as_json=as_json)
    if not found and not as_json:
        print("no functions are kept" if not query else f"no kept function matches {query!r}")
    return Exit.DONE if found else Exit.NOTHING_TO_DO


def show_function(folder: Path, name: str) -> int:
    """Print the source of a function and of its test. Raises UserError if there is none."""
    [kept] = _find_functions(folder, name)
    print(sanitize_text(f"{kept.source.rstrip()}\n\n# its test:\n{kept.test.rstrip()}"))
    return Exit.DONE


def remove_function(folder: Path, name: str) -> int:
    """Remove a function. Raises UserError if there is none."""
    from tools.kernel.saved_functions import open_stores

    [kept] = _find_functions(folder, name)
    open_stores(find_function_folders(folder))[kept.scope].remove(name)
    print(f"removed {name} ({kept.scope})")
    return Exit.DONE


def verify_functions(folder: Path, flags: Mapping[str, Any], *, as_json: bool) -> int:
    """Rerun every test. Returns DONE, TESTS_FAIL if one fails, NOTHING_TO_DO if there are none."""
    from sandbox.process.bounded_end import run_loop
    from tools.kernel.saved_functions import load_all_functions

    functions = load_all_functions(find_function_folders(folder))
    if not functions:
        return list_functions(folder, "", as_json=as_json)
    found = run_loop(_run_function_tests(folder, flags, functions))
    for each in found:
        _print_function(each, as_json=as_json)
    return Exit.TESTS_FAIL if any(each.problem for each in found) else Exit.DONE


async def _run_function_tests(
    folder: Path, flags: Mapping[str, Any], functions: list[SavedFunction]
) -> list[SavedFunction]:
    from cli.invocation import Invocation, load_invocation_settings, make_runtime
    from tools.kernel.saved_function_tools import recheck_functions

    flags = {**flags, "model": "offline", "actions": "hybrid"}
    invocation = Invocation(folder=folder, flags=flags, commit=False, offer_commit=False)
    home = Home.from_environment()
    runtime = make_runtime(invocation, home, load_invocation_settings(invocation, home).session)
    try:
        if runtime.workspace.kernel is None:
            raise UserError(
                Fault.CONFIGURATION, "there is no kernel in a container", "Set `sandbox` to auto."
            )
        return await recheck_functions(runtime.workspace, functions)
    finally:
        await runtime.close()


def _find_functions(folder: Path, name: str) -> list[SavedFunction]:
    from tools.kernel.saved_functions import load_all_functions

    found = [each for each in load_all_functions(find_function_folders(folder)) if each.name == name]
    if not found:
        raise UserError(
            Fault.USAGE, f"no saved function is called {name!r}", "See: patchwright functions list"
        )
    return found


def _print_function(kept: SavedFunction, *, as_json: bool) -> None:
    import json

    if as_json:
        print(json.dumps({**asdict(kept), "about": kept.summary}))
    else:
        state = f"FAILS: {kept.problem}" if kept.problem else kept.summary
        print(sanitize_text(f"{kept.name} ({kept.scope}): {state}".rstrip(": ")))

"""`patchwright functions`: list, search, show, verify and remove functions saved for later sessions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from agent.exit_codes import Exit
from agent.workspace_root import find_workspace_root
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text
from tools.kernel.saved_function_tools import recheck_functions
from tools.kernel.saved_functions import SavedFunction, load_all_functions, open_stores, search_functions


def find_function_folders(folder: Path) -> Mapping[str, Path]:
    """Return the folders of the project's and the user's functions."""
    home, (root, _) = Home.from_environment(), find_workspace_root(folder, need_git=False)
    return {"project": home.get_project_folder(root) / "functions", "user": home.data / "functions"}


def list_functions(folder: Path, query: str, *, as_json: bool) -> int:
    """Print the functions that contain all words of the query. Returns DONE, or NOTHING_TO_DO if there are none."""
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
    [kept] = _find_functions(folder, name)
    open_stores(find_function_folders(folder))[kept.scope].remove(name)
    print(f"removed {name} ({kept.scope})")
    return Exit.DONE


def verify_functions(folder: Path, flags: Mapping[str, Any], *, as_json: bool) -> int:
    """Rerun every test. Returns DONE, TESTS_FAIL if one fails, NOTHING_TO_DO if there are none."""
    functions = load_all_functions(find_function_folders(folder))
    if not functions:
        return list_functions(folder, "", as_json=as_json)
    found = asyncio.run(_run_function_tests(folder, flags, functions))
    for each in found:
        _print_function(each, as_json=as_json)
    return Exit.TESTS_FAIL if any(each.problem for each in found) else Exit.DONE


async def _run_function_tests(
    folder: Path, flags: Mapping[str, Any], functions: list[SavedFunction]
) -> list[SavedFunction]:
    from cli.invocation import Invocation, load_invocation_settings, make_runtime

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
    found = [each for each in load_all_functions(find_function_folders(folder)) if each.name == name]
    if not found:
        raise UserError(
            Fault.USAGE, f"no kept function is called {name!r}", "See: patchwright functions list"
        )
    return found


def _print_function(kept: SavedFunction, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({**asdict(kept), "about": kept.summary}))
    else:
        state = f"FAILS: {kept.problem}" if kept.problem else kept.summary
        print(sanitize_text(f"{kept.name} ({kept.scope}): {state}".rstrip(": ")))

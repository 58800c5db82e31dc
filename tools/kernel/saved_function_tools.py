"""`keep_function` and `kept_functions`: tools for the saved functions, and the check before they are offered."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from sandbox.fs.repository import read_head_commit
from tools.core.action import Effect, Observation, ToolFailure
from tools.core.registry import tool
from tools.core.workspace import Workspace
from tools.kernel.saved_functions import (
    FunctionStore,
    SavedFunction,
    Scope,
    load_all_functions,
    parse_function_name,
    search_functions,
)

MOST_SOURCE = 32_000
"""Characters of a function or of its test; a longer one is a module, and belongs in the project."""

MOST_LOADED = 50
"""Functions that a kernel starts with, the newest ones: a name for each is all that a model has to find."""


def read_current_commit(at: Workspace) -> str:
    """Return the commit for which a check of functions is valid."""
    return read_head_commit(at.root)


def _effect(arguments: Mapping[str, Any], at: Workspace) -> Effect:
    reason = "it keeps a function for later sessions"
    return Effect(kind="write", outside=True, reason=reason)


@tool(effect=_effect)
async def keep_function(source: str, test: str, scope: Scope = "project", *, at: Workspace) -> Observation:
    """Keep a function that worked for later sessions, where it is defined from the start.

    source: the function itself (it goes as its source), or its source; it imports what it needs
    test: Python that calls it and raises if it is wrong; it runs in a fresh kernel and may only read
    """
    if at.kernel is None or scope not in at.folders.saved_functions:
        raise ToolFailure("keep_function: nothing can be kept in this session")
    if len(source) > MOST_SOURCE or len(test) > MOST_SOURCE:
        raise ToolFailure(f"keep_function: at most {MOST_SOURCE} characters each for function and test")
    try:
        name = parse_function_name(source)
        ast.parse(test)
    except (SyntaxError, ValueError) as error:
        raise ToolFailure(f"keep_function: {error}") from None
    if not name or name.startswith("_"):
        raise ToolFailure("keep_function: source has to define one function, with a public name")
    if not test.strip():
        raise ToolFailure("keep_function: without a test nobody knows whether it works")
    if at.kernel.has_tool_function(name):
        raise ToolFailure(f"keep_function: {name!r} is the name of a tool: choose another")
    kept = SavedFunction(name=name, source=source, test=test, scope=scope, state=read_current_commit(at))
    problem = (await at.kernel.check_functions([kept]))[name]
    if problem:
        raise ToolFailure(f"keep_function: not kept, its test fails in a fresh kernel:\n{problem}")
    FunctionStore(at.folders.saved_functions[scope]).put(kept)
    return Observation(text=f"kept {name} for this {scope}", data={"kept": name})


@tool(effect="read")
async def kept_functions(query: str = "", *, at: Workspace) -> Observation:
    """The functions kept in earlier sessions: name, about, scope, problem.

    query: words that have to occur in name or source
    """
    found = search_functions(load_all_functions(at.folders.saved_functions), query)
    lines = [f"{each.name} ({each.scope}): {each.problem or each.summary}" for each in found]
    value = [{"name": e.name, "about": e.summary, "scope": e.scope, "problem": e.problem} for e in found]
    return Observation(text="\n".join(lines) or "none", value=value)


async def recheck_functions(at: Workspace, functions: Sequence[SavedFunction]) -> list[SavedFunction]:
    """Rerun the functions' tests in one fresh kernel, and store and return them with the results."""
    assert at.kernel is not None, "only a session with a kernel has kept functions"
    problems = await at.kernel.check_functions(functions)
    now = read_current_commit(at)
    found = []
    for each in functions:
        problem = problems[each.name]
        kept = replace(
            each, problem=problem.strip().rpartition("\n")[2], state=each.state if problem else now
        )
        with suppress(OSError):  # a full disk: it is checked again next time
            FunctionStore(at.folders.saved_functions[each.scope]).put(kept)
        found.append(kept)
    return found


async def load_usable_functions(at: Workspace) -> tuple[list[SavedFunction], list[str]]:
    """Return the functions for a new kernel, and a line for each function that no longer works here."""
    functions = load_all_functions(at.folders.saved_functions)[-MOST_LOADED:]
    now = read_current_commit(at)
    stale = [each for each in functions if each.state != now or each.problem]
    fresh = [each for each in functions if each not in stale]
    again = await recheck_functions(at, stale) if stale else []
    lines = [
        f"[kept function {each.name} fails its test now: {each.problem}]" for each in again if each.problem
    ]
    return [*fresh, *(each for each in again if not each.problem)], lines

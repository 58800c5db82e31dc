"""Functions that an agent wrote and that worked, kept for later sessions of a project or of its user.

DynaSaur (Nguyen et al. 2024, arXiv 2411.01747): actions are programs, and those that worked are used again. ASI (Wang
et al. 2025, arXiv 2504.06821): a program is taken in only after it was seen to work, and checked again where the world
has changed. So a function comes with a test, which has to pass in a fresh kernel before it is kept, and again before
it is offered in a project that has moved on.
"""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from sandbox.repository import head
from tools.action import Effect, Observation, ToolFailure
from tools.registry import tool
from tools.workspace import Workspace

Scope = Literal["project", "user"]

MOST_SOURCE = 32_000
"""Characters of a function or of its test; what is longer is a module, and belongs in the project."""

MOST_LOADED = 50
"""Functions that a kernel starts with, the newest of them: a name for each is all that a model has to find."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A function. state: the commit at which its test last passed, "" outside git; problem: why it did not since"""

    name: str
    source: str
    test: str
    scope: str
    state: str = ""
    problem: str = ""

    @property
    def about(self) -> str:
        """The first line of its docstring."""
        definition = ast.parse(self.source).body[0]
        assert isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef)
        return (ast.get_docstring(definition) or "").partition("\n")[0]


class Shelf:
    """The functions of one scope, each in a file of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def all(self) -> list[Kept]:
        """Every function that can be read, the newest last."""
        found = []
        for path in self._files():
            with suppress(
                OSError, ValueError, TypeError, SyntaxError
            ):  # damaged, or of another version: left alone
                kept = Kept(**json.loads(path.read_text("utf-8")))
                if defined(kept.source) == kept.name == path.stem:
                    found.append(kept)
        return found

    def put(self, kept: Kept) -> None:
        """Store a function, in place of one of the same name."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / f"{kept.name}.json"
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps(asdict(kept)), "utf-8")
        temporary.replace(path)

    def remove(self, name: str) -> bool:
        """Whether there was one."""
        path = self._folder / f"{name}.json"
        if path not in self._files():
            return False
        path.unlink()
        return True

    def _files(self) -> list[Path]:
        with suppress(OSError):  # there is no such folder yet
            return sorted(self._folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
        return []


def shelves(folders: Mapping[str, Path]) -> dict[str, Shelf]:
    """By scope."""
    return {scope: Shelf(folder) for scope, folder in folders.items()}


def everything(folders: Mapping[str, Path]) -> list[Kept]:
    """Of all scopes; a project's own function stands before a user's of the same name."""
    found: dict[str, Kept] = {}
    for scope in ("user", "project"):
        if scope in folders:
            found |= {kept.name: kept for kept in Shelf(folders[scope]).all()}
    return list(found.values())


def matching(functions: Sequence[Kept], query: str) -> list[Kept]:
    """Those in which every word of the query occurs: in the name, the documentation or the source."""
    words = query.lower().split()
    return [
        each for each in functions if all(word in f"{each.name}\n{each.source}".lower() for word in words)
    ]


def defined(source: str) -> str:
    """The name of the one function that a source defines; "" if it is anything else. Raises SyntaxError."""
    body = ast.parse(source).body
    is_one = len(body) == 1 and isinstance(body[0], ast.FunctionDef | ast.AsyncFunctionDef)
    return getattr(body[0], "name", "") if is_one else ""


def current(at: Workspace) -> str:
    """What a check of functions is good for."""
    return head(at.root)


def _effect(arguments: Mapping[str, Any], at: Workspace) -> Effect:
    reason = "it keeps a function for later sessions"
    return Effect(kind="write", outside=True, reason=reason)


@tool(effect=_effect)
async def keep_function(source: str, test: str, scope: Scope = "project", *, at: Workspace) -> Observation:
    """Keep a function that worked for later sessions, where it is defined from the start.

    source: the function itself (it goes as its source), or its source; it imports what it needs
    test: Python that calls it and raises if it is wrong; it runs in a fresh kernel and may only read
    """
    if at.kernel is None or scope not in at.settings.kept:
        raise ToolFailure("keep_function: nothing can be kept in this session")
    if len(source) > MOST_SOURCE or len(test) > MOST_SOURCE:
        raise ToolFailure(f"keep_function: at most {MOST_SOURCE} characters each for function and test")
    try:
        name = defined(source)
        ast.parse(test)
    except (SyntaxError, ValueError) as error:
        raise ToolFailure(f"keep_function: {error}") from None
    if not name or name.startswith("_"):
        raise ToolFailure("keep_function: source has to define one function, with a public name")
    if not test.strip():
        raise ToolFailure("keep_function: without a test nobody knows whether it works")
    if at.kernel.offers(name):
        raise ToolFailure(f"keep_function: {name!r} is the name of a tool: choose another")
    kept = Kept(name=name, source=source, test=test, scope=scope, state=current(at))
    problem = (await at.kernel.check([kept]))[name]
    if problem:
        raise ToolFailure(f"keep_function: not kept, its test fails in a fresh kernel:\n{problem}")
    Shelf(at.settings.kept[scope]).put(kept)
    return Observation(text=f"kept {name} for this {scope}", data={"kept": name})


@tool(effect="read")
async def kept_functions(query: str = "", *, at: Workspace) -> Observation:
    """The functions kept in earlier sessions: name, about, scope, problem.

    query: words that have to occur in name or source
    """
    found = matching(everything(at.settings.kept), query)
    lines = [f"{each.name} ({each.scope}): {each.problem or each.about}" for each in found]
    value = [{"name": e.name, "about": e.about, "scope": e.scope, "problem": e.problem} for e in found]
    return Observation(text="\n".join(lines) or "none", value=value)


async def checked(at: Workspace, functions: Sequence[Kept]) -> list[Kept]:
    """The functions with their tests run again in one fresh kernel, stored with what came of it."""
    assert at.kernel is not None, "only a session with a kernel has kept functions"
    problems = await at.kernel.check(functions)
    now = current(at)
    found = []
    for each in functions:
        problem = problems[each.name]
        kept = replace(
            each, problem=problem.strip().rpartition("\n")[2], state=each.state if problem else now
        )
        with suppress(OSError):  # a full disk: it is checked again next time
            Shelf(at.settings.kept[each.scope]).put(kept)
        found.append(kept)
    return found


async def loadable(at: Workspace) -> tuple[list[Kept], list[str]]:
    """What a new kernel starts with, and a line for each function that no longer works here."""
    functions = everything(at.settings.kept)[-MOST_LOADED:]
    now = current(at)
    stale = [each for each in functions if each.state != now or each.problem]
    fresh = [each for each in functions if each not in stale]
    again = await checked(at, stale) if stale else []
    lines = [
        f"[kept function {each.name} fails its test now: {each.problem}]" for each in again if each.problem
    ]
    return [*fresh, *(each for each in again if not each.problem)], lines

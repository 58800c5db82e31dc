"""Functions that an agent wrote and that worked, saved for later sessions of a project or of its user.

DynaSaur (Nguyen et al. 2024, arXiv 2411.01747): actions are programs, and those that worked are used again.
ASI (Wang et al. 2025, arXiv 2504.06821): a program is accepted only after it was seen to work, and checked
again where the environment has changed. So a function has a test, which must pass in a fresh kernel before it
is saved, and again before it is offered in a project with another commit.
"""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from sandbox.fs.private_files import create_private_folder, write_private_file
from sandbox.lazy_dataclass import dataclass

Scope = Literal["project", "user"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedFunction:
    """A saved function.

    state: the commit at which its test last passed, "" outside git; problem: why it has failed since
    """

    name: str
    source: str
    test: str
    scope: str
    state: str = ""
    problem: str = ""

    @property
    def summary(self) -> str:
        """The first line of its docstring."""
        definition = ast.parse(self.source).body[0]
        assert isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef)
        return (ast.get_docstring(definition) or "").partition("\n")[0]


class FunctionStore:
    """The functions of one scope, each in a file of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load_functions(self) -> list[SavedFunction]:
        """Return every readable function, the newest last."""
        found = []
        for path in self._list_files():
            with suppress(
                OSError, ValueError, TypeError, SyntaxError
            ):  # damaged, or of another version: ignored
                kept = SavedFunction(**json.loads(path.read_text("utf-8")))
                if parse_function_name(kept.source) == kept.name == path.stem:
                    found.append(kept)
        return found

    def put(self, kept: SavedFunction) -> None:
        """Store a function, replacing one of the same name."""
        create_private_folder(self._folder)
        path = self._folder / f"{kept.name}.json"
        temporary = path.with_suffix(f".{os.getpid()}")
        write_private_file(temporary, json.dumps(asdict(kept)).encode())
        temporary.replace(path)

    def remove(self, name: str) -> bool:
        """Remove a function; return whether there was one."""
        path = self._folder / f"{name}.json"
        if path not in self._list_files():
            return False
        path.unlink()
        return True

    def _list_files(self) -> list[Path]:
        with suppress(OSError):  # there is no such folder yet
            return sorted(self._folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
        return []


def open_stores(folders: Mapping[str, Path]) -> dict[str, FunctionStore]:
    """Return the stores by scope."""
    return {scope: FunctionStore(folder) for scope, folder in folders.items()}


def load_all_functions(folders: Mapping[str, Path]) -> list[SavedFunction]:
    """Return the functions of all scopes; a project's own function precedes a user's of the same name."""
    found: dict[str, SavedFunction] = {}
    for scope in ("user", "project"):
        if scope in folders:
            found |= {kept.name: kept for kept in FunctionStore(folders[scope]).load_functions()}
    return list(found.values())


def search_functions(functions: Sequence[SavedFunction], query: str) -> list[SavedFunction]:
    """Return those with every word of the query in the name, the documentation or the source."""
    words = query.lower().split()
    return [
        each for each in functions if all(word in f"{each.name}\n{each.source}".lower() for word in words)
    ]


def parse_function_name(source: str) -> str:
    """Return the name of the one function that a source defines; "" for anything else. Raises SyntaxError."""
    body = ast.parse(source).body
    is_one = len(body) == 1 and isinstance(body[0], ast.FunctionDef | ast.AsyncFunctionDef)
    return getattr(body[0], "name", "") if is_one else ""

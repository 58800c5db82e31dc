"""Preparation of a repository: what a session would find out first, found out before it, and kept by commit.

It reads files and git's history, and runs nothing of the repository: parsers, git without the repository's programs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from agent.app_dirs import Home, make_private_folder
from cli.repository_files import list_files
from packages.setup.init.layout import describe_layout
from packages.setup.init.project_commands import find_commands
from packages.setup.prepare.next_tasks import list_next_tasks
from sandbox.errors import Fault, UserError
from sandbox.extensions import load_extension
from sandbox.fs.private_files import write_private_file
from sandbox.lazy_dataclass import dataclass
from sandbox.parsed_data import parse_json
from tools.git.git_process import Git, GitFailed

FORMAT = 1

_FILE = "prepared.json"
"""File in the project's data folder."""

_FIRST = ("install", "test", "lint", "build", "run")
"""Kinds of commands that somebody new needs."""

_MOST_ALIKE = 2
"""Commands of one kind: the manifests come first, then what continuous integration runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """What is known of a commit. indexed: files that the code index has; commits: of the history, newly remembered

    commands: how to set up, test and run, each with its source; modules: a line for each folder
    tasks: what may come next; cpu: seconds, with child processes; unfinished: what there was no time for
    remembered: the memory was on, so that the history was added to it
    """

    commit: str
    format: int = FORMAT
    indexed: int = 0
    commits: int = 0
    commands: Sequence[str] = ()
    modules: Sequence[str] = ()
    tasks: Sequence[str] = ()
    cpu: float = 0.0
    unfinished: Sequence[str] = ()
    remembered: bool = False


def prepare_repository(
    root: Path, home: Home, *, seconds: float, remembers: bool
) -> tuple[Preparation, bool]:
    """Return what is known of the present commit, and whether it was known before. Raises UserError.

    seconds: of CPU, after which no further part is begun; remembers: the history is added to the memory
    """
    commit = _read_commit(root)
    place = home.get_project_folder(root) / _FILE
    known = _read_known(place)
    is_whole = known is not None and not known.unfinished and (known.remembered or not remembers)
    if known is not None and is_whole and known.commit == commit:
        return known, True
    begun = _measure_cpu()
    found, unfinished = Preparation(commit=commit, remembered=remembers), list[str]()
    for name, part in _list_parts(root, home, remembers=remembers):
        if _measure_cpu() - begun > seconds:
            unfinished.append(name)
        else:
            found = replace(found, **part())
    found = replace(found, cpu=round(_measure_cpu() - begun, 2), unfinished=unfinished)
    with suppress(OSError, UserError):  # not writable: found out again next time
        make_private_folder(place.parent)
        write_private_file(place, json.dumps(asdict(found)).encode())
    return found, False


def _list_parts(root: Path, home: Home, *, remembers: bool) -> Iterator[tuple[str, Any]]:
    """Yield the parts by name, the most useful first, each as a function that returns fields."""
    files = list_files(root)

    def index() -> Mapping[str, Any]:
        from tools.code.index.code_index import ask_index

        return {"indexed": ask_index(root, home.cache, (), lambda index: index.store.count_files())}

    def read_commands() -> Mapping[str, Any]:
        found = find_commands(root, files)
        chosen = [
            each for kind in _FIRST for each in [entry for entry in found if entry.kind == kind][:_MOST_ALIKE]
        ]
        return {"commands": [f"{each.kind}: {each.command} ({each.source})" for each in chosen]}

    def remember() -> Mapping[str, Any]:
        from agent.memory.memory_key import find_store_path
        from agent.memory.memory_store import MemoryStore

        store = MemoryStore(find_store_path(home, root))
        return {"commits": load_extension("memory", "seed")(store, root)}

    yield "the code index", index
    yield "commands", read_commands
    yield "modules", lambda: {"modules": describe_layout(root, files)}
    yield "next tasks", lambda: {"tasks": list_next_tasks(root)}
    if remembers:
        yield "the history", remember


def _read_known(place: Path) -> Preparation | None:
    """Return what was found last, None if nothing was, or it is of another version."""
    with suppress(OSError, ValueError, TypeError, AttributeError):
        values = parse_json(place.read_bytes())
        names = {each.name for each in fields(Preparation)}
        if values.get("format") == FORMAT and set(values) == names:
            return Preparation(**values)
    return None


def _read_commit(root: Path) -> str:
    try:
        return Git(root, alone=True).run_text("rev-parse", "--verify", "HEAD").strip()
    except (GitFailed, OSError) as error:
        raise UserError(Fault.NOT_A_REPOSITORY, "there is no commit to prepare", "Commit first.") from error


def _measure_cpu() -> float:
    """Return the CPU seconds of this process and of its children that ended."""
    return sum(os.times()[:4])


def format_preparation(found: Preparation, *, was_known: bool) -> Iterator[str]:
    """Yield lines for a person."""
    head = f"commit {found.commit[:12]}: {found.indexed} files indexed"
    yield f"{head}, prepared before" if was_known else f"{head}, {found.cpu:.1f} s of CPU"
    if found.commits and not was_known:
        yield f"{found.commits} commits remembered: their files are named for similar work"
    for title, lines in (
        ("commands", found.commands),
        ("modules", found.modules),
        ("next, perhaps", found.tasks),
    ):
        if lines:
            yield f"{title}:"
            yield from (f"  {each}" for each in lines)
    for each in found.unfinished:
        yield f"no time for {each}: a later run goes on"

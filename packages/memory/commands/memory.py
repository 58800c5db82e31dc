"""`patchwright memory`: what is remembered of a repository: see it, delete it, copy it, switch it off."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.app_dirs import Home
from agent.workspace_root import find_workspace_root
from cli.commands.group import ListingGroup
from cli.commands.options import Folder
from cli.output.standard_streams import print_json
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from agent.memory.memory_store import MemoryStore
    from packages.memory.notes.foreign_notes import Note


def add(app: typer.Typer) -> None:
    """Add the group of commands to the program's."""
    group = typer.Typer(
        rich_markup_mode=None, help="What is remembered of this repository.", cls=ListingGroup
    )
    group.command("list")(list_)
    group.command()(show)
    group.command()(why)
    group.command()(forget)
    group.command()(export)
    group.command("import")(import_)
    group.command()(share)
    group.command()(skills)
    group.command()(seed)
    group.command()(on)
    group.command()(off)
    app.add_typer(group, name="memory")


_LONGEST = 8 << 20
"""Bytes of a line of an export: a record is shorter, and a device has lines without end."""

Name = Annotated[str, typer.Argument(metavar="ID", help="A lesson or case, as `memory list` names it.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]


def list_(folder: Folder = Path("."), as_json: AsJson = False) -> None:
    """List the lessons, and the newest cases."""
    from packages.memory.memory_lines import SHOWN_CASES, list_records

    store = _open_store(folder)
    if as_json:
        from dataclasses import asdict

        lessons, cases = store.list_lessons(), store.list_cases()
        print_json({"lessons": [asdict(each) for each in lessons], "cases": [asdict(each) for each in cases]})
    else:
        _print_lines(list_records(store, SHOWN_CASES))
    _announce(store)


def show(name: Name, folder: Folder = Path(".")) -> None:
    """Show all that is stored of a lesson or case."""
    from packages.memory.memory_lines import show_record

    store = _open_store(folder)
    try:
        _print_lines(show_record(store, name))
    finally:
        _announce(store)


def why(name: Name, folder: Folder = Path(".")) -> None:
    """Show where a lesson comes from, and when a model was shown it, why, and with which outcome."""
    from packages.memory.memory_lines import explain_record

    store = _open_store(folder)
    try:
        _print_lines(explain_record(store, name))
    finally:
        _announce(store)


def forget(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]…", help="Lessons and cases, as `memory list` names them."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All that is remembered of this repository.")
    ] = False,
    folder: Folder = Path("."),
) -> None:
    """Delete lessons and cases, so that no byte of them is left in the store."""
    from packages.memory.memory_lines import forget_records

    if everything == bool(names):
        raise UserError(Fault.USAGE, "name what to forget, or give --all", "List it: patchwright memory list")
    store = _open_store(folder)
    if everything:
        store.forget_all()
        print("forgot all of this repository; the logs of its sessions are kept")
    else:
        try:
            print(forget_records(store, names or []))
        finally:
            _announce(store)


def export(
    to: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="Standard output if not given.")] = None,
    folder: Folder = Path("."),
) -> None:
    """Write the memory of this repository as JSON lines."""
    from packages.memory.memory_file import export_memory

    store = _open_store(folder)
    lines = "".join(f"{each}\n" for each in export_memory(store))
    if store.notices:  # an empty export would take the place of an older one
        raise UserError(Fault.CONFIGURATION, store.notices[0], "Nothing was exported.")
    if to is None:
        sys.stdout.write(lines)
        return
    try:
        _replace_file(to, lines.encode())
    except OSError as error:
        raise UserError(Fault.USAGE, f"cannot write {str(to)!r}: {error.strerror}") from error


def _replace_file(to: Path, content: bytes) -> None:
    """Write an export, in place of an older one only once it is whole; into a device or a pipe as it is.

    Raises OSError.
    """
    from sandbox.fs.private_files import write_private_file

    to = to.resolve()
    if to.exists() and not to.is_file():
        write_private_file(to, content)
        return
    draft = to.with_name(f".{to.name}.{os.getpid()}.part")
    try:
        write_private_file(draft, content)
        if to.exists():
            draft.chmod(stat.S_IMODE(to.stat().st_mode))
        draft.replace(to)
    finally:
        draft.unlink(missing_ok=True)


def import_(
    source: Annotated[
        str, typer.Argument(metavar="FILE|claude|codex", help="An export, a Markdown file, or an agent.")
    ],
    folder: Folder = Path("."),
) -> None:
    """Add an export, the lists of a Markdown file, or what Claude Code or Codex keep of this repository.

    They count as claims of somebody else, never as your words. Nothing of them is run.
    """
    from packages.memory.notes.foreign_notes import AGENTS, read_markdown_notes

    if source in AGENTS or source.endswith(".md"):
        root, _ = find_workspace_root(folder, need_git=False)
        _import_notes(
            AGENTS[source](root) if source in AGENTS else read_markdown_notes(Path(source)),
            root,
            folder,
            source,
        )
    else:
        _import_export(Path(source), folder)


def _import_notes(notes: Iterable[Note], root: Path, folder: Path, source: str) -> None:
    from packages.memory.notes.note_import import import_notes

    store = _open_store(folder)
    found = import_notes(notes, store, root)
    if not (found.new or found.known or found.left):
        raise UserError(Fault.USAGE, f"{source} has no notes on this repository")
    gone = f", no longer there: {found.gone}" if found.gone else ""
    print(f"new lessons: {found.new}, known: {found.known}{gone}")
    if found.left:
        print(f"left out: {found.left} ({'; '.join(found.problems)})")
    _announce(store)


def _import_export(source: Path, folder: Path) -> None:
    from packages.memory.memory_file import import_memory

    store = _open_store(folder)
    try:
        with source.open("rb") as lines:
            whole = iter(lambda: lines.readline(_LONGEST), b"")
            lessons, cases, problems = import_memory(whole, store)
    except OSError as error:
        raise UserError(Fault.USAGE, f"cannot read {str(source)!r}: {error.strerror}") from error
    print(f"new lessons: {lessons}, cases: {cases}")
    if problems:
        print(sanitize_text(f"left out: {len(problems)} ({problems[0]})"))


def share(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]…", help="Lessons, as `memory list` names them.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All lessons that are shown, but refusals and other people's.")
    ] = False,
    folder: Folder = Path("."),
) -> None:
    """Write lessons into the repository, a Markdown file each in .patchwright/memory, for review and commit."""
    from packages.memory.shared_lessons import share_lessons

    if everything == bool(names):
        raise UserError(Fault.USAGE, "name what to share, or give --all", "List it: patchwright memory list")
    root, _ = find_workspace_root(folder, need_git=False)
    written = list(share_lessons(_open_store(folder), Home.from_environment(), root, names or []))
    _print_lines(written or ["there is no lesson to share"])
    if written:
        print("review and commit them; others are told them once they trust them: patchwright trust")


def skills(
    draft: Annotated[
        str, typer.Option("--draft", metavar="NAME", help="Replay this procedure, and keep it if it holds.")
    ] = "",
    command: Annotated[
        str, typer.Option("--command", metavar="NAME", help="The same, as a slash command that runs it.")
    ] = "",
    folder: Folder = Path("."),
    as_json: AsJson = False,
) -> None:
    """List procedures that recur in sessions that ended done, and the skills made of them; --draft makes one.

    It is replayed in a fresh worktree, confined and without a network; again once files that it depends on changed.
    """
    from packages.memory.skills.learned_skills import LearnedSkills

    root, _ = find_workspace_root(folder, need_git=True, without="")
    found = LearnedSkills(store=_open_store(folder), home=Home.from_environment(), root=root)
    if draft and command:
        raise UserError(Fault.USAGE, "--draft and --command make different things", "Give one of them.")
    if draft or command:
        print(found.draft(draft) if draft else found.draft_command(command))
    else:
        for each in found.check_changed():
            print(f"patchwright: {each}", file=sys.stderr)
        if as_json:
            print_json(found.encode())
        else:
            _print_lines(found.list_lines())
    _announce(found.store)


def seed(folder: Folder = Path(".")) -> None:
    """Remember the repository's own history: which files the commits changed, by their messages. No model is asked."""
    from packages.memory.history_cases import seed_from_history

    root, _ = find_workspace_root(folder, need_git=True, without="")
    store = _open_store(folder)
    print(f"new cases: {seed_from_history(store, root)}")
    _announce(store)


def on() -> None:
    """Let sessions remember and recall (the setting memory.enabled)."""
    _switch("true")


def off() -> None:
    """Let no session remember or recall anything; what is stored stays until it is forgotten."""
    _switch("false")


def _switch(value: str) -> None:
    from cli.commands.config.config import set_setting

    raise typer.Exit(set_setting("memory.enabled", value))


def _print_lines(lines: Iterable[str]) -> None:
    for each in lines:
        print(each)


def _announce(store: MemoryStore) -> None:
    for each in store.notices:
        print(f"patchwright: {each}", file=sys.stderr)


def _open_store(folder: Path) -> MemoryStore:
    from agent.memory.memory_key import find_store_path
    from agent.memory.memory_store import MemoryStore

    root, _ = find_workspace_root(folder, need_git=False)
    return MemoryStore(find_store_path(Home.from_environment(), root))

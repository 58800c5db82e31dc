"""`patchwright session …`: search, copy, rename, move and remove sessions."""

from __future__ import annotations

import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from agent.app_dirs import Home
from agent.workspace_root import find_workspace_root
from cli.commands.options import Folder
from cli.output.standard_streams import print_json
from sandbox.errors import Fault, UserError
from sandbox.sanitize import quote_name, sanitize_json, sanitize_text

Id = Annotated[
    str, typer.Argument(metavar="[ID]", help="The session; the newest of this project if not given.")
]


class ExportFormat(StrEnum):
    """Formats of an exported session."""

    log = "log"
    atif = "atif"
    swebench = "swebench"


def add(app: typer.Typer) -> None:
    """Add these commands to the program's."""
    group = typer.Typer(
        rich_markup_mode=None, help="Find, copy, name and remove sessions.", no_args_is_help=True
    )
    group.command()(search)
    group.command()(fork)
    group.command()(title)
    group.command()(feedback)
    group.command()(export)
    group.command("import")(import_)
    group.command()(prune)
    app.add_typer(group, name="session")


def search(
    words: Annotated[
        list[str], typer.Argument(metavar="WORDS", help="Words that a match contains, all of them.")
    ],
    folder: Folder = Path("."),
    all_projects: Annotated[bool, typer.Option("--all", help="Sessions of every project.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many matches.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON lines.")] = False,
) -> None:
    """Search prompts, actions and outputs of sessions, best first."""
    raise typer.Exit(
        search_sessions(folder, " ".join(words), all_projects=all_projects, limit=limit, as_json=as_json)
    )


def fork(
    session: Id = "",
    at: Annotated[
        str,
        typer.Option("--at", metavar="EVENT", help="Only up to this event (e12); to the end if not given."),
    ] = "",
    folder: Folder = Path("."),
) -> None:
    """Start a new session with the history of another.

    Its id is printed; the other stays as it is.
    """
    raise typer.Exit(fork_session(folder, session, at))


def title(
    session: Annotated[str, typer.Argument(metavar="ID", help="The session.")],
    text: Annotated[str, typer.Argument(metavar="TITLE", help="The new title.")],
    folder: Folder = Path("."),
) -> None:
    """Give a session a title."""
    raise typer.Exit(rename_session(folder, session, text))


def feedback(
    session: Annotated[str, typer.Argument(metavar="ID", help="The session.")],
    words: Annotated[
        list[str],
        typer.Argument(metavar="[STEP] good|bad TEXT", help="The step, the last one if not given; a note."),
    ],
    folder: Folder = Path("."),
) -> None:
    """Note what was good or bad about a step.

    `patchwright sessions feedback` shows the behaviors that such notes are about.
    """
    from sandbox.extensions import load_extension

    raise typer.Exit(load_extension("reports", "feedback_command")(folder, session, words))


def export(
    session: Id = "",
    to: Annotated[
        str, typer.Option("--to", metavar="FILE", help="A new file; standard output if not given.")
    ] = "-",
    form: Annotated[
        ExportFormat, typer.Option("--format", help="The log, a trajectory, or a prediction.")
    ] = ExportFormat.log,
    instance: Annotated[
        str, typer.Option("--instance", metavar="ID", help="swebench: the instance that was worked on.")
    ] = "",
    folder: Folder = Path("."),
) -> None:
    """Write a session, every output whole, as JSON lines.

    `atif`: a trajectory of ATIF-v1.8. `swebench`: its change as a prediction of SWE-bench.
    """
    if (form is ExportFormat.swebench) != bool(instance):
        raise typer.BadParameter("--format swebench and --instance ID belong together")
    raise typer.Exit(write_export(folder, session, to, form=form, instance=instance))


def import_(
    source: Annotated[str, typer.Argument(metavar="FILE", help="An export; `-` reads standard input.")],
    folder: Folder = Path("."),
) -> None:
    """Import an exported session into this project; print its id."""
    raise typer.Exit(import_session(folder, source))


def prune(
    older_than: Annotated[
        float | None,
        typer.Option("--older-than", metavar="DAYS", min=0, help="Sessions not used for so many days."),
    ] = None,
    keep: Annotated[
        float | None,
        typer.Option("--keep", metavar="MB", min=0, help="The oldest sessions beyond this size in total."),
    ] = None,
    folder: Folder = Path("."),
    all_projects: Annotated[bool, typer.Option("--all", help="Sessions of every project.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list sessions to remove.")] = False,
) -> None:
    """Remove old sessions; never one that is open."""
    if older_than is None and keep is None:
        raise typer.BadParameter("give --older-than DAYS, --keep MB, or both")
    raise typer.Exit(prune_sessions(folder, older_than, keep, all_projects=all_projects, dry=dry_run))


_MB = 1 << 20


def search_sessions(folder: Path, words: str, *, all_projects: bool, limit: int, as_json: bool) -> int:
    """Print the matches that contain all the words. Returns 3 if there are none."""
    from agent.session.session_search import search_logs

    home = Home.from_environment()
    project = (
        None if all_projects else home.get_project_folder(find_workspace_root(folder, need_git=False)[0])
    )
    hits = search_logs(home, words, project=project, limit=limit)
    for hit in hits:
        if as_json:
            fields = {"session": hit.path.name, "event": hit.event, "kind": hit.kind, "time": hit.time}
            print_json({**fields, "excerpt": hit.excerpt})
        else:
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(hit.time))
            print(sanitize_text(f"{hit.path.name}  {when}  {hit.event:<6} {hit.kind:<11}  {hit.excerpt}"))
    if not hits:
        print(sanitize_text(f"nothing found for {words!r}"), file=sys.stderr)
    return 0 if hits else 3


def fork_session(folder: Path, session: str, at: str) -> int:
    """Copy a session's history into a new one."""
    from agent.session.export_import import create_fork

    made = create_fork(_find_session_folder(folder, session), at)
    made.close()
    print(made.id)
    return 0


def rename_session(folder: Path, session: str, title: str) -> int:
    """Store a session's title."""
    from agent.session.log import Session

    if not title.strip():
        raise UserError(Fault.USAGE, "the title is empty", "Say what to call the session.")
    opened = Session.open(_find_session_folder(folder, session))
    try:
        opened.rename(title)
    finally:
        opened.close()
    return 0


def write_export(
    folder: Path, session: str, to: str, *, form: ExportFormat = ExportFormat.log, instance: str = ""
) -> int:
    """Write a session's export to a new file, or to standard output."""
    path = _find_session_folder(folder, session)
    if to == "-":
        _write_format(folder, path, sys.stdout.buffer, form, instance)
        return 0
    try:
        with Path(to).open("xb") as file:
            _write_format(folder, path, file, form, instance)
    except FileExistsError:
        raise UserError(Fault.USAGE, f"{to!r} exists", "Name a new file.") from None
    except OSError as error:
        raise UserError(Fault.USAGE, f"cannot write {to!r}: {error.strerror}") from None
    return 0


def _write_format(folder: Path, path: Path, file: IO[bytes], form: ExportFormat, instance: str) -> None:
    if form is ExportFormat.log:
        from agent.session.export_import import export_to_stream

        export_to_stream(path, file)
        return
    import json

    if form is ExportFormat.atif:
        from cli.output.formats.trajectory import build_trajectory

        found = build_trajectory(path)
    else:
        found = _predict(folder, path, instance)
    file.write(sanitize_json(json.dumps(found, ensure_ascii=False)).encode("utf-8", "replace") + b"\n")


def _predict(folder: Path, path: Path, instance: str) -> dict[str, Any]:
    """Return the session's change as a prediction; what is no text is named on standard error."""
    from agent.session.log import read_events
    from cli.output.formats.prediction import build_prediction, read_session_patch
    from sandbox.snapshots.workspace_snapshots import Snapshots

    root, _ = find_workspace_root(folder, need_git=False)
    snapshots = Snapshots(root, Home.from_environment().get_project_folder(root) / "snapshots")
    try:
        change = read_session_patch(read_events(path), snapshots)
    finally:
        snapshots.close()
    if change.left_out:
        names = ", ".join(map(quote_name, change.left_out))
        print(f"patchwright: not in the patch, for it is no text: {names}", file=sys.stderr)
    return build_prediction(instance, change)


def import_session(folder: Path, source: str) -> int:
    """Create a session from an export."""
    from agent.session.export_import import import_from_stream

    root, _ = find_workspace_root(folder, need_git=False)
    sessions = Home.from_environment().get_project_folder(root) / "sessions"
    if source == "-":
        made = import_from_stream(sys.stdin.buffer, sessions)
    else:
        try:
            with Path(source).open("rb") as file:
                made = import_from_stream(file, sessions)
        except OSError as error:
            raise UserError(
                Fault.USAGE,
                f"cannot read {source!r}: {error.strerror}",
                "Give the path of a file that `patchwright session export` wrote.",
            ) from None
    made.close()
    print(made.id)
    return 0


def prune_sessions(
    folder: Path, older_than: float | None, keep: float | None, *, all_projects: bool, dry: bool
) -> int:
    """Remove sessions by age (days) and size (MB)."""
    from agent.session.session_index import load_session_summaries
    from agent.session.session_pruning import prune_snapshots, remove_old_sessions
    from cli.commands.sessions.sessions import format_session_line

    root = None if all_projects else find_workspace_root(folder, need_git=False)[0]
    done = remove_old_sessions(
        load_session_summaries(Home.from_environment(), root),
        older_than=None if older_than is None else older_than * 86_400,
        keep_bytes=None if keep is None else int(keep * _MB),
        dry=dry,
    )
    for each, _ in done.removed:
        print(f"{'would remove' if dry else 'removed'} {format_session_line(each)}")
    size = sum(bytes_ for _, bytes_ in done.removed)
    verb = "would be removed" if dry else "removed"
    if not dry:
        for project in {each.path.parent.parent for each, _ in done.removed}:
            prune_snapshots(project)
    print(f"{len(done.removed)} {verb} ({size / _MB:.1f} MB), {done.kept / _MB:.1f} MB kept")
    return 0


def _find_session_folder(folder: Path, session: str) -> Path:
    from cli.commands.run.resume import find_newest_session

    home = Home.from_environment()
    root, _ = find_workspace_root(folder, need_git=False)
    name = session or find_newest_session(home, root)
    path = home.get_project_folder(root) / "sessions" / name
    if "/" in name or not (path / "log.jsonl").is_file():
        raise UserError(
            Fault.USAGE, f"no session {name!r} in this project", "List them: patchwright sessions"
        )
    return path

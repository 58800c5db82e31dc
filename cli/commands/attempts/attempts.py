"""`patchwright attempts`: list the attempts of a turn, look at them, compare two, take another one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from agent.app_dirs import Home
from agent.exit_codes import Exit
from cli.commands.options import Folder, NoCommit, Tests
from cli.output.standard_streams import print_json
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from cli.commands.attempts.session_attempts import SessionAttempts

Session = Annotated[
    str,
    typer.Option(
        "--session",
        metavar="ID",
        help="The session, or the beginning or end of its id; the newest if not given.",
    ),
]
Number = Annotated[int, typer.Argument(metavar="N", min=1, help="Number of the attempt.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]


class _ListingGroup(TyperGroup):
    """A group of commands whose first word may be a session: its attempts are listed then."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `list` before words that call no command."""
        is_listing = not args or (args[0] not in self.commands and args[0] not in ("--help", "-h"))
        if is_listing and not ctx.resilient_parsing:  # a completion offers all commands of the group
            args = ["list", *args]
        return super().parse_args(ctx, args)


def add(app: typer.Typer) -> None:
    """Add the group of commands to the program's."""
    group = typer.Typer(
        cls=_ListingGroup,
        rich_markup_mode=None,
        help="List and compare attempts; take another.",
    )
    group.command("list")(list_)
    group.command()(show)
    group.command()(diff)
    group.command()(use)
    group.command()(guide)
    group.command()(stop)
    app.add_typer(group, name="attempts")


def list_(
    session: Annotated[
        str, typer.Argument(metavar="[SESSION]", help="The newest with attempts if not given.")
    ] = "",
    named: Session = "",
    folder: Folder = Path("."),
    as_json: AsJson = False,
) -> None:
    """List the attempts of a session's last turn that made some, as a tree."""
    if session and named and session != named:
        raise typer.BadParameter("one session: as the argument, or with --session")
    session = session or named
    raise typer.Exit(_run_or_report(lambda: list_attempts(folder, session, as_json=as_json)))


def show(number: Number, session: Session = "", folder: Folder = Path(".")) -> None:
    """Show one attempt: its verdicts, why it was chosen or not, its report, its change."""
    raise typer.Exit(_run_or_report(lambda: show_attempt(folder, session, number)))


def diff(
    first: Annotated[int, typer.Argument(metavar="N", min=1, help="Number of the one.")],
    second: Annotated[int, typer.Argument(metavar="M", min=1, help="Number of the other.")],
    session: Session = "",
    folder: Folder = Path("."),
) -> None:
    """Compare two attempts: their verdicts, and the difference between their files.

    From 140 columns on the files stand side by side.
    """
    raise typer.Exit(_run_or_report(lambda: compare_attempts(folder, session, first, second)))


def use(
    number: Number,
    session: Session = "",
    folder: Folder = Path("."),
    tests: Tests = None,
    no_test: Annotated[
        bool, typer.Option("--no-test", help="Run no tests; nothing is committed then.")
    ] = False,
    no_commit: NoCommit = False,
) -> None:
    """Take another attempt: its change replaces the one in your files.

    Your own changes to these files are never overwritten. `patchwright undo` takes it back.
    """
    from cli.commands.attempts.take import take_attempt_in_session

    flags = {"test_command": tests} if tests is not None else {}
    raise typer.Exit(
        _run_or_report(
            lambda: take_attempt_in_session(
                _load(folder, session), number, flags, commit=not no_commit, test=not no_test
            )
        )
    )


def guide(
    number: Number,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Your words for it.")],
    session: Session = "",
    folder: Folder = Path("."),
) -> None:
    """Tell an attempt of a background run something; those that go on from it are told, too."""
    from agent.events import GuidanceEvent
    from cli.commands.attempts.direct import direct_attempt

    direction = GuidanceEvent(attempt=number, text=text)
    raise typer.Exit(_run_or_report(lambda: direct_attempt(_load(folder, session), direction)))


def stop(number: Number, session: Session = "", folder: Folder = Path(".")) -> None:
    """Stop an attempt of a background run with those that go on from it; nothing more goes on from it."""
    from agent.events import StopAttemptEvent
    from cli.commands.attempts.direct import direct_attempt

    direction = StopAttemptEvent(attempt=number)
    raise typer.Exit(_run_or_report(lambda: direct_attempt(_load(folder, session), direction)))


def list_attempts(folder: Path, session: str, *, as_json: bool) -> int:
    """Print the attempts of a session. Returns the exit code. Raises UserError."""
    from cli.output.attempts.attempt_rows import COLUMNS, build_json, format_lines, list_cells, list_rows
    from cli.output.style.paint import make_painter
    from cli.output.style.terminal import Terminal
    from cli.output.tables import print_table

    found = _load(folder, session)
    rows = list_rows(found.tree, found.folder.parent, is_open=found.is_open)
    if as_json:
        content = build_json(found.folder.name, found.tree, rows)
        print_json(content)
        return int(Exit.DONE)
    terminal = Terminal.from_stream(sys.stdout)
    task = " ".join(found.tree.prompt.split())
    print(sanitize_text(f"session {found.folder.name}, {found.tree.strategy}: {task[:200]}"))
    width = terminal.columns - 1 if terminal.tty else 0
    paint = make_painter(colour=terminal.colour)
    print_table(
        COLUMNS, list(map(list_cells, rows)), format_lines(rows, width, paint, unicode=terminal.unicode)
    )
    return int(Exit.DONE)


def show_attempt(folder: Path, session: str, number: int) -> int:
    """Print one attempt with its change. Returns the exit code. Raises UserError."""
    from cli.output.attempts.attempt_report import format_report
    from cli.output.attempts.attempt_rows import list_rows
    from cli.output.diff.print_diff import print_diff

    found = _load(folder, session)
    node = found.tree.get_node(number)
    rows = list_rows(found.tree, found.folder.parent, is_open=found.is_open)
    row = next(each for each in rows if each.number == number)
    print("\n".join(format_report(found.tree, node, row)))
    if patch := found.read_patch(number):
        print()
        print_diff(patch.decode("utf-8", "replace"))
    return int(Exit.DONE)


def compare_attempts(folder: Path, session: str, first: int, second: int) -> int:
    """Print the verdicts on two attempts and the difference of their files. Returns the exit code. Raises UserError."""
    from agent.children.places import open_git
    from agent.strategy.person.patch_exchange import build_difference
    from cli.output.attempts.attempt_rows import format_lines, list_rows
    from cli.output.diff.print_diff import print_diff
    from cli.output.style.paint import make_painter
    from cli.output.style.terminal import Terminal
    from tools.git.git_process import GitFailed

    found = _load(folder, session)
    numbers = [found.tree.get_node(number).number for number in (first, second)]
    terminal = Terminal.from_stream(sys.stdout)
    rows = {each.number: each for each in list_rows(found.tree, found.folder.parent, is_open=found.is_open)}
    shown = format_lines(
        [rows[number] for number in numbers],
        terminal.columns - 1 if terminal.tty else 0,
        make_painter(colour=terminal.colour),
        unicode=terminal.unicode,
    )
    print("\n".join(shown))
    patches = [found.read_patch(number) for number in numbers]
    try:
        text = build_difference(open_git(found.root, Home.from_environment()), found.tree.base, *patches)
    except GitFailed:  # git has removed the commit that they began with
        for number, patch in zip(numbers, patches, strict=True):
            print(f"\nattempt {number}:")
            print_diff(patch.decode("utf-8", "replace"))
        return int(Exit.DONE)
    if not text:
        print("their files are the same")
        return int(Exit.DONE)
    print()
    print_diff(text.decode("utf-8", "replace"))
    return int(Exit.DONE)


def _load(folder: Path, session: str) -> SessionAttempts:
    from cli.commands.attempts.session_attempts import load_session_attempts

    return load_session_attempts(folder, session)


def _run_or_report(run: Callable[[], int]) -> int:
    """Run a command; report that there is nothing to do (3), or that the files do not allow it (13)."""
    from agent.strategy.person.patch_exchange import ExchangeRefused, NothingToTake
    from cli.commands.attempts.session_attempts import NoAttempts
    from cli.output.error_output import write_user_error

    try:
        return run()
    except (NoAttempts, NothingToTake) as error:
        write_user_error(error)
        return int(Exit.NOTHING_TO_DO)
    except ExchangeRefused as error:
        write_user_error(error)
        return int(Exit.NOT_ACHIEVED)

"""The slash commands: a table of what they are called, what they say of themselves, and what they do."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.events import Signal
from cli.render.diffs import painted
from cli.render.paint import painter
from cli.render.summary import money, price, tokens
from cli.render.terminal import fit
from cli.repl.ledger import UNDONE
from sandbox.inert import inert
from tools.text import plural

if TYPE_CHECKING:
    from cli.repl.chat import Chat
    from sandbox.snapshots import Change, Snapshots

DIFF_LINES = 400
"""Lines of one file in /diff: more is read in an editor, or with git diff and a pager."""

LISTED_SESSIONS = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One slash command. `argument` is how it is written in the help, "" if there is none.

    while_working: may be given while a turn is running
    """

    name: str
    argument: str
    help: str
    run: Callable[[Chat, str], Coroutine[None, None, None]]
    while_working: bool = True


def parse(text: str) -> Command | str | None:
    """The command in a line; a complaint if it only looks like one; None if it is something else."""
    word = text.split(maxsplit=1)[0]
    if not word.startswith("/") or "/" in word[1:] or "\n" in text:  # "/usr/bin is missing" is a prompt
        return None
    if command := BY_NAME.get(word):
        return command
    near = difflib.get_close_matches(word, BY_NAME, n=1)
    return f"no command {word!r}. " + (f"Did you mean {near[0]}?" if near else "/help lists them.")


async def show_help(chat: Chat, argument: str) -> None:
    paint = painter(colour=chat.front.terminal.colour)
    rows = [(f"{each.name} {each.argument}".strip(), each.help) for each in COMMANDS]
    lines = []
    for name, text in [*rows, ("", ""), *KEYS]:
        narrow = chat.front.terminal.columns < 60
        gap = "\n    " if narrow and name else " " * max(1, 18 - len(name))
        lines.append(f"  {paint(name, 'bold')}{gap}{text}" if name else "")
    chat.view.note("\n".join(lines))


async def model(chat: Chat, argument: str) -> None:
    """Show the model, or use another one from now on."""
    if not argument:
        chat.tell(f"model: {chat.runtime.model.name}\nswitch: /model PROVIDER/NAME, or /model offline")
        return
    await chat.switch_model(argument)
    chat.runtime.session.append(Signal(name="model", detail=f"model: {chat.runtime.model.name}"))


async def diff(chat: Chat, argument: str) -> None:
    """What the session's turns changed, against what is there now."""
    snapshots = _snapshots(chat)
    before = await asyncio.to_thread(_first_states, chat, snapshots) if snapshots else {}
    shown = []
    for path, change in sorted(before.items()):
        assert snapshots is not None
        old = snapshots.content(change.before) if change.before else b""
        new = await asyncio.to_thread(_present, chat, path)
        if old is None or old != new:
            shown.append(_file_diff(chat, path, old, new))
    commits = [commit for turn in chat.ledger.turns for commit in turn.commits]
    if commits:
        shown.append(
            f"committed: {', '.join(commit[:7] for commit in commits)}  (git show {commits[-1][:7]})"
        )
    chat.view.note("\n".join(shown) if shown else "this session has changed no file")


async def undo(chat: Chat, argument: str) -> None:
    """Take back what the last changing turn did, unless the user has changed the same files since."""
    turn, snapshots = chat.ledger.undoable(), _snapshots(chat)
    if turn is None or snapshots is None:
        chat.tell("nothing to undo: no turn of this session has changed a file")
        return
    after = turn.after or await asyncio.to_thread(snapshots.take)
    restored = await asyncio.to_thread(snapshots.restore, turn.before, after)
    if restored.clashes:
        lines = [f"  {path}: {reason}" for path, reason in restored.clashes.items()]
        chat.tell(
            "nothing was undone: some files have changed since that turn\n" + "\n".join(lines), "yellow"
        )
        return
    paths = [change.path for change in restored.changes]
    title = turn.prompt.strip().partition("\n")[0]
    chat.runtime.session.append(Signal(name=UNDONE, detail=f"undone: {title}"))
    lines = [f"  {path}" for path in paths] or ["  (it had been taken back already)"]
    if turn.commits:
        lines.append(
            f"Its commit {turn.commits[-1][:7]} stays in the history; git revert would take that back."
        )
    chat.tell("\n".join([f"{plural(len(paths), 'file')} as before that turn:", *lines]))
    chat.note = (
        "[I have undone the changes of your last turn: "
        + (", ".join(paths) or "its files")
        + " are as they were before it. Read them again before you rely on them.]"
    )


async def cost(chat: Chat, argument: str) -> None:
    """Tokens and dollars of the whole session."""
    spent = chat.ledger.spent
    if not spent.input + spent.output:
        chat.tell(f"{plural(chat.ledger.calls, 'step')}, no tokens used")
        return
    cached = f" ({tokens(spent.cached)} of them cached)" if spent.cached else ""
    chat.tell(
        f"{plural(chat.ledger.calls, 'call')}: {tokens(spent.input)} tokens in{cached},"
        f" {tokens(spent.output)} out; {price(spent, unpriced=chat.ledger.unpriced)}"
    )


async def sessions(chat: Chat, argument: str) -> None:
    """This project's sessions, the newest first."""
    from agent.index import sessions as indexed

    found = await asyncio.to_thread(indexed, chat.home, chat.runtime.workspace.root)
    width = chat.front.terminal.columns
    lines = []
    for each in found[:LISTED_SESSIONS]:
        spent = money(each.cost) if each.cost is not None else ""
        here = "*" if each.id == chat.runtime.session.id else " "
        head = inert(f"{here} {each.id}  {each.outcome:<13} {spent:>8}")
        title = inert(each.title or "(nothing asked yet)")
        narrow = width < 70
        lines += (
            [fit(head, width), fit(f"    {title}", width)] if narrow else [fit(f"{head}  {title}", width)]
        )
    more = len(found) - LISTED_SESSIONS
    lines += [f"  and {more} older: patchwright sessions"] if more > 0 else []
    chat.view.note("\n".join([*lines, "  go on with one: patchwright resume ID"]))


async def leave(chat: Chat, argument: str) -> None:
    """End the conversation."""
    chat.quit()


COMMANDS = (
    Command(name="/help", argument="", help="this list", run=show_help),
    Command(
        name="/model", argument="[NAME]", help="show or switch the model", run=model, while_working=False
    ),
    Command(name="/diff", argument="", help="what this session changed", run=diff),
    Command(
        name="/undo", argument="", help="take back the last turn's changes", run=undo, while_working=False
    ),
    Command(name="/cost", argument="", help="tokens and dollars so far", run=cost),
    Command(name="/sessions", argument="", help="this project's sessions", run=sessions),
    Command(name="/quit", argument="", help="leave; the session can be resumed", run=leave),
)

BY_NAME = {each.name: each for each in COMMANDS} | {"/exit": COMMANDS[-1]}

KEYS = (
    ("Enter", "send; while it works: say more"),
    ("Alt-Enter", "new line (also Ctrl-J, or \\ at the end)"),
    ("Ctrl-C", "stop the step, again: the turn; clear the line"),
    ("Ctrl-D", "leave"),
    ("@", "complete a file name"),
    ("Ctrl-R", "search the history"),
)


def _snapshots(chat: Chat) -> Snapshots | None:
    """The session's snapshots; None in read-only mode, where nothing can have changed."""
    from sandbox.snapshots import Snapshots

    found = chat.runtime.snapshots
    return found if isinstance(found, Snapshots) else None


def _first_states(chat: Chat, snapshots: Snapshots) -> dict[str, Change]:
    """Each path that a turn changed, with its state before the first of them."""
    first: dict[str, Change] = {}
    for turn in chat.ledger.changing():
        for change in snapshots.changed(turn.before, turn.after or snapshots.take()):
            first.setdefault(change.path, change)
    return first


def _present(chat: Chat, path: str) -> bytes:
    files = chat.runtime.workspace.files
    return files.read(path) if files.is_file(path) else b""


def _file_diff(chat: Chat, path: str, old: bytes | None, new: bytes) -> str:
    from tools.text import unified

    paint = painter(colour=chat.front.terminal.colour)
    if old is None or b"\0" in old[:8192] or b"\0" in new[:8192]:
        return f"{paint(inert(path), 'bold')}: changed (not shown: binary or too large)"
    text = unified(path, old.decode("utf-8", "replace"), new.decode("utf-8", "replace"))
    return "\n".join([paint(inert(path), "bold"), *painted(text, paint, limit=DIFF_LINES)])

"""Walks through every key and every command at three sizes of window: each does what the page on the terminal says."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.app_dirs import Home
from tests.support import cli
from tests.support.cli import call, git, script
from tests.support.talking import (
    AT_SIZES,
    SIZES,
    ask,
    at_rest,
    cleared,
    leave,
    make_shop,
    prompted,
    prompts,
    ready,
    talk,
)
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow

ESCAPE, UP, LEFT = "\x1b", "\x1b[A", "\x1b[D"


def ctrl(letter: str) -> str:
    """The key as a terminal sends it."""
    return chr(ord(letter.upper()) & 0x1F)


def editor_of(shop: Path) -> str:
    """An editor that writes a line more."""
    path = shop.parent / "editor"
    path.write_text('#!/bin/sh\nprintf " and more" >> "$1"\n')
    path.chmod(0o755)
    return str(path)


@AT_SIZES
def test_every_key_of_the_prompt(columns: int, rows: int, shop: Path) -> None:
    turns = [{"text": "First answer."}, {"text": "Second answer."}]
    with talk(shop, turns, columns=columns, rows=rows, EDITOR=editor_of(shop)) as terminal:

        def typed(keys: str, seen: str) -> None:
            terminal.type(keys)
            terminal.wait(lambda: prompted(terminal) == seen)

        at_rest(terminal)
        ask(terminal, "a wide 日本 line 🎉 first", "First answer.")
        # new lines: Alt-Enter, Ctrl-J, a backslash, Shift-Enter as two kinds of terminals report it
        terminal.type(f"1{ESCAPE}\r2{ctrl('j')}3\\\r4\x1b[13;2u5\x1b[27;2;13~6")
        terminal.wait("❯ 1\n  2\n  3\n  4\n  5\n  6")
        cleared(terminal, ctrl("c"))
        # the line editor's own: to the beginning and the end, words, kill and yank
        typed("two words", "two words")
        typed(f"{ctrl('a')}the {ctrl('e')}!", "the two words!")
        typed(f"{ctrl('w')}", "the two")
        typed(f"{ESCAPE}b{ctrl('k')}", "the")
        typed(f"{ctrl('y')}", "the two")
        typed("日本🎉" + LEFT + "\x7f", "the two 日🎉")
        cleared(terminal, ctrl("c"))
        # the history and a search in it, the editor by both of its keys
        typed(UP, "a wide 日本 line 🎉 first")
        cleared(terminal, ctrl("c"))
        terminal.type(f"{ctrl('r')}wide")
        terminal.wait("I-search backward: wide")
        terminal.wait(lambda: prompted(terminal) == "a wide 日本 line 🎉 first")
        terminal.type("\r")
        terminal.wait(lambda: "I-search" not in terminal.text)
        assert prompted(terminal) == "a wide 日本 line 🎉 first"
        cleared(terminal, ctrl("c"))
        terminal.type(f"{ctrl('r')}wide")
        terminal.wait(lambda: prompted(terminal) == "a wide 日本 line 🎉 first")
        terminal.type(ESCAPE)
        terminal.wait(lambda: "I-search" not in terminal.text)
        cleared(terminal, ctrl("u"))  # all of it: the match in its middle left no tail
        typed("some", "some")
        typed(ctrl("g"), "some and more")
        cleared(terminal, ctrl("u"))
        typed("again", "again")
        typed(f"{ctrl('x')}{ctrl('e')}", "again and more")
        cleared(terminal, ctrl("c"))
        # Esc alone does nothing; plan, ask, auto; the transcript, by its keys; a list that is left
        terminal.type("\x1b[Z")
        terminal.wait("\nplan · ")
        at_rest(terminal)
        terminal.type("\x1b[Z")
        terminal.wait("\nask · ")
        at_rest(terminal)
        terminal.type("\x1b[Z")
        terminal.wait("auto: it writes in the repository")
        at_rest(terminal)
        for leaving in ("q", ESCAPE, ctrl("o"), ctrl("c")):
            terminal.type(ctrl("o"))
            terminal.wait("PgDn" if columns > 50 else "↑↓")
            cleared(terminal, leaving)
        for leaving in (ESCAPE, ctrl("c"), ctrl("d")):
            terminal.type(ESCAPE * 2)
            terminal.wait("Go back to before")
            terminal.wait("1 of 1")
            cleared(terminal, leaving)
        ask(terminal, "go on", "Second answer.")
        assert max(map(len, terminal.text.split("\n"))) <= columns
        terminal.type(ctrl("d"))
        assert terminal.wait_for_end() == 0
    assert prompts(shop) == ["a wide 日本 line 🎉 first", "go on"]


@AT_SIZES
def test_every_command(columns: int, rows: int, shop: Path) -> None:
    git(shop, "branch", "spring-sale")
    turns = [
        {"calls": [call("edit", path="cart.py", old=" - 1", new="")]},
        {"text": "Mended."},
        {"text": "My opinion: fine."},
    ]
    second = script(shop.parent, [{"text": "unused"}] * 3, name="second.json")
    with talk(shop, turns, "--tests", "echo 3 passed in 0.02s", columns=columns, rows=rows) as terminal:

        def said(line: str, answer: str) -> None:
            ask(terminal, line, answer)

        at_rest(terminal)
        said("/help undo", "last turn's changes" if columns > 50 else "take back the last turn")
        said("/help", "search the history")
        terminal.type("?")  # no Enter: on an empty line it is a key
        terminal.wait(lambda: terminal.everything.count("this list of keys") == 2 and ready(terminal))
        said("/memory", "no AGENTS.md or CLAUDE.md")
        said("#never use tabs", "added to AGENTS.md")
        said("/memory", "AGENTS.md (1 lines)")
        said("/init", "AGENTS.md")  # it is there, and left alone
        assert (shop / "AGENTS.md").read_text() == "- never use tabs\n"
        said("/undo", "nothing to undo")
        said("/redo", "nothing to redo")
        said("/diff", "has changed no file")
        said("/commit", "nothing to commit")
        said("mend it", "Mended.")
        said("/diff", "+     return sum")
        said("/cost", "2 calls, no tokens used")
        said("/state", "cart.py")
        said("/context", "system prompt and tools")
        said("/undo", "as before the turn")
        assert " - 1" in (shop / "cart.py").read_text()
        said("/redo", "cart.py")
        assert " - 1" not in (shop / "cart.py").read_text()
        said("/rewind", "cart.py")
        said("/rewind 1", "cart.py")
        assert " - 1" in (shop / "cart.py").read_text()
        said("/redo", "cart.py")
        said("/tests", "3 passed")
        said("/commit", "committed ")
        assert git(shop, "show", "--stat", "--format=", "HEAD").split()[0] == "cart.py"
        said("/review spring-sale", "checks: nothing found")
        said("/hooks", "not installed")
        said("/mode", "* workspace")
        said("/approval never", "approval: never")
        said("/settings terminal.notify off", "is stored in")
        said("/settings", "terminal.notify")
        assert "--tests" in terminal.everything.rpartition("❯ /settings\n")[2]
        said("/rename the first try", "this session is called")
        terminal.type("/sessions\r")
        terminal.wait("Which session?")
        terminal.wait("the first try")
        cleared(terminal, "\x1b")
        said("/compact", "context: summary")
        said(f"/model {second}", "model: scripted:")
        said("/export out.md", "written:")
        assert (shop / "out.md").stat().st_size
        said("/nonsense", "no command '/nonsense'")
        terminal.type("/trace\r")
        terminal.wait("PgDn" if columns > 50 else "↑↓")
        terminal.type("q")
        at_rest(terminal)
        terminal.type("/fork another try\r")
        terminal.wait(lambda: "this is a copy now" in terminal.everything and "turn 2" in terminal.everything)
        at_rest(terminal)
        there = terminal.everything.count("\npatchwright 0")
        terminal.type("/clear\r")
        terminal.wait(lambda: terminal.everything.count("\npatchwright 0") > there and ready(terminal))
        terminal.type("/resume\r")
        terminal.wait("Go on with which session?")
        terminal.wait("2 of 2")
        terminal.type("first\r")
        terminal.wait(lambda: "turn 2" in terminal.text and ready(terminal))
        assert max(map(len, terminal.text.split("\n"))) <= columns
        leave(terminal)


@AT_SIZES
def test_plans_are_edited_turned_down_and_left(columns: int, rows: int, shop: Path) -> None:
    plan = call("plan", items=[{"text": "take the one away", "status": "open"}])
    turns = [
        {"calls": [plan], "expect": ["Plan mode: only look"]},
        {"text": "That is the plan."},
        {"text": "Another plan.", "expect": ["differently"]},
        {"text": "Carried out.", "expect": ["1. take the one away, carefully"]},
    ]
    with talk(shop, turns, columns=columns, rows=rows) as terminal:
        at_rest(terminal)
        terminal.type("/plan mend the total\r")
        terminal.wait("The plan is made.")
        terminal.type("g")
        at_rest(terminal)
        terminal.type("differently\r")
        terminal.wait("Another plan.")
        terminal.wait("The plan is made.")
        terminal.type("e")
        terminal.wait("1. take the one away")
        terminal.type(", carefully\r")
        terminal.wait("Carried out.")
        at_rest(terminal)
        assert not terminal.text.split("\n")[-1].startswith("plan")
        leave(terminal)


def test_it_can_be_put_into_the_background(shop: Path) -> None:
    """Ctrl-Z, under a shell with job control; what was typed is there again."""
    model = script(shop.parent, [{"text": "Back."}])
    shell = ["bash", "--norc", "--noprofile", "-i"]
    with Terminal(shell, cwd=shop, env=cli.environment({"PS1": "$ "}), columns=40, rows=15) as terminal:
        terminal.wait("$")
        terminal.type(f"{' '.join(cli.PATCHWRIGHT)} --model {model}\r")
        for number, (columns, rows) in enumerate(SIZES):
            terminal.resize(columns, rows)
            at_rest(terminal)
            terminal.type("half a line")
            terminal.wait("❯ half a line")
            terminal.type("\x1a")
            terminal.wait(lambda: terminal.text.split("\n")[-1].strip() == "$")
            terminal.type(f"echo in the sh''ell {number}; fg\r")
            terminal.wait(f"in the shell {number}")
            terminal.wait(lambda: "\n❯ half a line\n" in terminal.text)
            terminal.type("\x15")
        ask(terminal, "half a line", "Back.")
        at_rest(terminal)
        leave_shell(terminal)


def leave_shell(terminal: Terminal) -> None:
    terminal.type("/quit\r")
    terminal.wait("go on later")
    terminal.type("exit\r")
    assert terminal.wait_for_end() == 0


@pytest.mark.parametrize(
    ("notify", "sign"), [("bell", b"\x07"), ("osc9", b"\x1b]9;Patchwright: "), ("off", b"")]
)
@AT_SIZES
def test_a_question_calls_the_person(
    columns: int, rows: int, notify: str, sign: bytes, tmp_path: Path
) -> None:
    shop = make_shop(tmp_path / "shop")
    home = Home.from_environment()
    home.config.mkdir(parents=True)
    (home.config / "settings.toml").write_text(f'[terminal]\nnotify = "{notify}"\n')
    turns = [{"calls": [call("shell", command="git fetch origin")]}, {"text": "So be it."}]
    with talk(shop, turns, columns=columns, rows=rows) as terminal:
        at_rest(terminal)
        assert b"\x07" not in terminal.raw
        terminal.type("go\r")
        terminal.wait("Allow shell?")
        terminal.type(ctrl("c"))  # a no
        terminal.wait("So be it.")
        assert sign in terminal.raw if sign else b"\x07" not in terminal.raw
        assert (b"\x1b]9;" in terminal.raw) == (notify == "osc9")

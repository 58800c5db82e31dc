"""The prompt: what is typed into it while nothing runs, and while something does."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from agent.app_dirs import Home
from tests.support.cli import call
from tests.support.talking import (
    SIZES,
    ask,
    at_rest,
    cleared,
    leave,
    log_of,
    logs,
    prompted,
    prompts,
    talk,
    wait_until,
)

BLOCK = "touch started; until test -e go; do sleep 0.05; done"
ESCAPE = "\x1b"


@pytest.mark.slow
def test_a_command_of_the_users_own_and_a_note_reach_the_model(shop: Path) -> None:
    turns = [{"text": "I see both.", "expect": ["hi-42", "I ran this myself", "never use tabs"]}]
    with talk(shop, turns) as terminal:
        at_rest(terminal)
        terminal.type("!echo hi-$((20+22)); exit 3\r")
        terminal.wait("  hi-42\nexit 3")
        at_rest(terminal)
        terminal.type("#never use tabs\r")
        terminal.wait("added to AGENTS.md: never use tabs")
        assert (shop / "AGENTS.md").read_text() == "- never use tabs\n"
        ask(terminal, "go", "I see both.")
        assert prompts(shop)[0] == "go"


@pytest.mark.slow
def test_an_editor_vi_keys_own_commands_and_own_keys(shop: Path) -> None:
    home = Home.from_environment()
    (home.config / "commands").mkdir(parents=True)
    (home.config / "commands" / "explain.md").write_text(
        "# say what it does\n\nExplain $ARGUMENTS in one line.\n"
    )
    (home.config / "settings.toml").write_text(
        '[terminal]\nediting = "vi"\ntheme = "dark"\n\n[terminal.keys]\neditor = ["f2"]\n'
    )
    editor = shop.parent / "editor"
    editor.write_text('#!/bin/sh\nprintf "written in\\nan editor" > "$1"\n')
    editor.chmod(0o755)
    turns = [{"text": answer} for _ in SIZES for answer in ("One.", "Two.")]
    with talk(shop, turns, columns=40, rows=15, EDITOR=str(editor)) as terminal:
        for columns, rows in SIZES:
            terminal.resize(columns, rows)
            at_rest(terminal)
            terminal.type("/expl")
            terminal.wait("say what it does")
            terminal.type("\t")
            terminal.wait(lambda: prompted(terminal) == "/explain")
            ask(terminal, "cart.py", "One.")
            terminal.type("no")
            terminal.wait("❯ no")
            terminal.type(f"{ESCAPE}OQ")
            terminal.wait(lambda: terminal.text.rpartition("❯ ")[2].startswith("written in\n  an editor\n"))
            ask(terminal, "", "Two.")
            terminal.type("wrong words")
            terminal.wait("❯ wrong words")
            terminal.type(ESCAPE)
            terminal.type("bbdw")
            terminal.wait("❯ words")
            cleared(terminal, "\x03")
        assert prompts(shop) == ["Explain cart.py in one line.", "written in\nan editor"] * len(SIZES)


@pytest.mark.slow
def test_a_wrong_key_in_the_settings_is_told_before_anything_is_drawn(shop: Path) -> None:
    home = Home.from_environment()
    home.config.mkdir(parents=True)
    (home.config / "settings.toml").write_text('[terminal.keys]\nunfold = ["ctrl-nonsense"]\n')
    with talk(shop, [{"text": "Ok."}]) as terminal:
        terminal.wait("there is no key 'ctrl-nonsense'")
        assert terminal.wait_for_end() == 6
        assert "Traceback" not in terminal.everything


@pytest.mark.slow
def test_plan_mode_changes_nothing_until_the_plan_is_carried_out(shop: Path) -> None:
    turns = [
        {"calls": [call("edit", path="cart.py", old=" - 1", new=""),
                   call("plan", items=[{"text": "take the one away", "status": "open"}])],
         "expect": ["Plan mode: only look"]},
        {"text": "That is the plan."},
        {"calls": [call("edit", path="cart.py", old=" - 1", new="")], "expect": ["Carry out this plan"]},
        {"text": "Carried out."},
    ]  # fmt: skip
    with talk(shop, turns, "--tests", "true", columns=100, rows=30) as terminal:
        at_rest(terminal)
        terminal.type(f"{ESCAPE}[Z")
        terminal.wait("plan mode: nothing is changed")
        terminal.wait("\nplan · ")
        terminal.type("mend the total\r")
        terminal.wait("The plan is made. What now?")
        assert " - 1" in (shop / "cart.py").read_text()
        terminal.type("c")
        terminal.wait("❯ carry out the plan")
        terminal.wait("Carried out.")
        at_rest(terminal)
        assert terminal.everything.count("take the one away") == 1
        assert " - 1" not in (shop / "cart.py").read_text()
        assert not terminal.text.split("\n")[-1].startswith("plan")
        leave(terminal)


@pytest.mark.slow
def test_plan_mode_outlives_the_process_and_its_words_are_not_the_users(shop: Path) -> None:
    turns = [
        {
            "text": "I would take the one away.",
            "expect": ["Plan mode: only look", "I ran this myself: echo hello"],
        },
        {"text": "Still planning.", "expect": ["Plan mode: only look"]},
    ]
    with talk(shop, turns, columns=100, rows=30) as terminal:
        at_rest(terminal)
        ask(terminal, "!echo hello", "hello")
        at_rest(terminal)
        terminal.type("/plan mend the total\r")
        terminal.wait("The plan is made.")
        terminal.type("g")
        at_rest(terminal)
        session = logs()[0].parent.name
        assert [event["text"] for event in log_of(shop) if event["kind"] == "prompt"] == ["mend the total"]
        terminal.type("\x0f")  # the whole session
        terminal.wait("  [Plan mode: only look")
        assert "❯ [Plan mode" not in terminal.text
        terminal.type("q")
        at_rest(terminal)
        there = terminal.everything.count("patchwright 0")
        terminal.type("/clear\r")
        terminal.wait(lambda: terminal.everything.count("patchwright 0") > there)
        at_rest(terminal)
        assert "\nplan · " not in terminal.text
        terminal.type(f"/resume {session}\r")
        terminal.wait("plan mode is on, as it was")
        terminal.wait("\nplan · ")
        terminal.type("and the rounding?\r")
        terminal.wait("Still planning.")
        terminal.type("\x1b")
        at_rest(terminal)
        leave(terminal)


@pytest.mark.slow
def test_a_closed_terminal_ends_a_command_of_the_users(shop: Path) -> None:
    with talk(shop, [{"text": "Ok."}]) as terminal:
        at_rest(terminal)
        terminal.type("!touch started; sleep 600\r")
        terminal.wait_beside(lambda: (shop / "started").exists())
        terminal.hang_up()
        wait_until(lambda: not terminal.running)


@pytest.mark.slow
def test_the_end_of_the_input_waits_for_nobody(shop: Path) -> None:
    """Ctrl-D while a question stands, and a closed terminal: what ran is ended."""
    turns = [{"calls": [call("shell", command="bash ./x")]}, {"text": "Ok."}]
    with talk(shop, turns, "--sandbox", "unconfined") as terminal:
        at_rest(terminal)
        terminal.type("go\r")
        terminal.wait("Allow shell?")
        terminal.hang_up()
        wait_until(lambda: any(event["kind"] == "end" for event in log_of(shop)))


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0, 0.02, 0.08, 0.2, 0.4])
def test_a_command_that_is_typed_after_escape_keeps_its_slash(shop: Path, delay: float) -> None:
    with talk(shop, [{"text": "Sent."}]) as terminal:
        at_rest(terminal)
        terminal.type(ESCAPE)
        time.sleep(delay)
        terminal.type("/help keys\r")
        terminal.wait("Ctrl-O")
        leave(terminal)
    assert not prompts(shop)


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0, 0.05, 0.2, 0.4])
def test_what_is_typed_after_a_list_a_pager_or_a_question_arrives_whole(shop: Path, delay: float) -> None:
    turns = [{"calls": [call("shell", command="git fetch --prune origin")]}, {"text": "So be it."}]
    opened = {"/theme\r": "type to narrow", "\x0f": "PgDn", "go\r": "❯ y  Yes, once"}
    with talk(shop, turns, "--tests", "true", rows=30) as terminal:
        at_rest(terminal)
        for keys, seen in opened.items():
            terminal.type(keys)
            terminal.wait(seen)
            terminal.type(ESCAPE)
            time.sleep(delay)
            terminal.type("/help")
            terminal.wait(lambda: prompted(terminal) == "/help")
            cleared(terminal)
        assert "So be it." in terminal.everything
        leave(terminal)


@pytest.mark.slow
def test_letters_after_a_lone_escape_are_typed_and_alt_is_alt(shop: Path) -> None:
    with talk(shop, [{"text": "Sent."}]) as terminal:
        at_rest(terminal)
        terminal.type("one two")
        terminal.wait("❯ one two")
        terminal.type(ESCAPE)
        time.sleep(0.2)
        terminal.type("b")
        terminal.wait("❯ one twob")
        terminal.type(f"{ESCAPE}b{ESCAPE}d!")  # Alt-b, Alt-d: to the word's begin, and the word is gone
        terminal.wait("❯ one !")
        terminal.type("\x03")
        leave(terminal)

"""Questions before something runs: what is asked, what each answer does, and what is not asked again."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.app_dirs import Home
from tests.support.cli import call
from tests.support.talking import at_rest, talk


@pytest.mark.slow
def test_another_change_of_the_same_file_is_another_question(shop: Path) -> None:
    workflow = ".github/workflows/ci.yml"
    turns = [
        {"calls": [call("write", path=workflow, content=f"{text}\n") for text in ("one", "two")]},
        {"calls": [call("write", path=workflow, content="three\n")]},
        {"text": "So be it."},
    ]
    with talk(shop, turns, "--tests", "true", rows=30) as terminal:
        at_rest(terminal)
        terminal.type("write it\r")
        terminal.wait(" 1 + one ")
        assert "+ two" not in terminal.text  # two calls for one file are two questions
        terminal.type("y")
        terminal.wait(" 1 + two ")
        assert " 1 - one " in terminal.text
        terminal.type("y")
        terminal.wait(" 1 + three ")
        terminal.type("n")
        terminal.wait("So be it.")
        assert (shop / workflow).read_text() == "two\n"


@pytest.mark.slow
def test_a_command_that_is_typed_at_a_question_allows_nothing(shop: Path) -> None:
    turns = [{"calls": [call("shell", command="git fetch --prune origin")]}, {"text": "So be it."}]
    with talk(shop, turns, "--tests", "true", rows=30) as terminal:
        at_rest(terminal)
        terminal.type("fetch it\r")
        terminal.wait("❯ y  Yes, once")
        terminal.type("/model\r\x1b[A")
        terminal.wait("❯ t  No, and tell it why")
        terminal.type("\x1b[A\r")
        terminal.wait("So be it.")
        assert "denied: the user refused it" in terminal.everything


@pytest.mark.slow
def test_actions_that_run_at_once_ask_one_after_the_other(shop: Path) -> None:
    home = Home.from_environment()
    home.config.mkdir(parents=True)
    (home.config / "settings.toml").write_text('[permissions]\nask = ["read(*.py)"]\n')
    turns = [{"calls": [call("read", path="cart.py"), call("read", path="order.py")]}, {"text": "Both."}]
    with talk(shop, turns) as terminal:
        at_rest(terminal)
        terminal.type("look\r")
        terminal.wait("│ cart.py ")
        terminal.type("y")
        terminal.wait("│ order.py ")
        terminal.type("y")
        terminal.wait("Both.")


@pytest.mark.slow
def test_lines_are_asked_and_answered_on_a_dumb_terminal(shop: Path) -> None:
    run = [call("shell", command=f"bash ./make {name}") for name in ("one", "two")]
    turns = [{"calls": run}, {"text": "So be it.", "expect": ["says: not now"]}]
    (shop / "make").write_text('touch "$1"\n')
    with talk(shop, turns, "--sandbox", "unconfined", "--tests", "true", TERM="dumb") as terminal:
        terminal.wait(">")
        terminal.type("make them\n")
        terminal.wait("Allow shell: bash ./make one")
        terminal.wait("y = Yes, once; s = Yes, for this session")
        terminal.type("yes\n")
        terminal.wait("Allow shell: bash ./make two")
        terminal.type("not now\n")
        terminal.wait("Allow run_tests?")
        terminal.type("y\n")
        terminal.wait("done, ")
        assert (shop / "one").exists()
        assert not (shop / "two").exists()
        assert b"\x1b" not in terminal.raw

"""Questions before something runs: what is asked, what each answer does, and what is not asked again."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.home import Home
from tests.support.cli import call
from tests.support.talking import at_rest, leave, log_of, talk


@pytest.mark.slow
def test_each_answer_does_what_it_says(shop: Path) -> None:
    run = [
        call("shell", command=f"bash ./make {name}")
        for name in ("once", "once", "session", "refused", "told")
    ]
    turns = [
        {"calls": [*run, call("shell", command="git fetch origin")]},
        {"text": "So be it.", "expect": ["the user refused it and says: use make instead"]},
        {"calls": [call("shell", command="bash ./make session"), call("shell", command="bash ./make once")]},
        {"text": "Again."},
    ]
    (shop / "make").write_text('touch "$1"; echo "$1" >> log\n')
    with talk(shop, turns, "--sandbox", "unconfined", "--tests", "true", rows=40) as terminal:
        at_rest(terminal)
        terminal.type("make them\r")
        terminal.wait("Allow shell: bash ./make once")
        terminal.wait("why: runs the script './make'")
        terminal.type("zy")  # z means nothing
        terminal.wait("Allow shell: bash ./make session")
        terminal.type("s")
        terminal.wait("Allow shell: bash ./make refused")
        terminal.type("n")
        terminal.wait("Allow shell: bash ./make told")
        terminal.type("t")
        terminal.wait("what shall the model be told?")
        terminal.type("use make instead\r")
        terminal.wait("Allow shell: git fetch origin")
        terminal.type("r")
        terminal.wait("> shell(git fetch")
        terminal.type("\x05\x02 --dry-run\r")  # a word more before the bracket at the end of the line
        terminal.wait("Allow run_tests?")
        terminal.type("y")
        terminal.wait("So be it.")
        at_rest(terminal)
        assert (shop / "log").read_text().split() == ["once", "once", "session"]
        stored = (Home.from_environment().config / "allowed-commands.txt").read_text()
        assert stored.startswith("git fetch")
        assert stored.endswith(" --dry-run\n")
        terminal.type("again\r")
        terminal.wait("Allow shell: bash ./make once")  # the one for the session was not asked for
        assert (shop / "log").read_text().split()[-1] == "session"
        terminal.type("n")
        terminal.wait("Allow run_tests?")
        terminal.type("n")
        terminal.wait("Again.")
        by = [event["by"] for event in log_of(shop) if event["kind"] == "decision"]
        assert by == ["person"] * len(by)


@pytest.mark.slow
def test_keys_in_the_middle_of_a_word_are_no_answer(shop: Path) -> None:
    """They go on into the prompt; Enter sends it, and then the keys are the question's."""
    home = Home.from_environment()
    home.config.mkdir(parents=True)
    (home.config / "settings.toml").write_text("[terminal]\npause = 3600\n")
    turns = [
        {"calls": [call("shell", command="touch started; until test -e go; do sleep 0.05; done")]},
        {"calls": [call("shell", command="git fetch --prune origin")]},
        {"text": "So be it.", "expect": ["say yes"]},
    ]
    with talk(shop, turns) as terminal:
        at_rest(terminal)
        terminal.type("go\r")
        terminal.wait(lambda: (shop / "started").exists())
        terminal.type("sa")
        terminal.wait("> sa")
        (shop / "go").touch()
        terminal.wait("Allow shell: git fetch")
        terminal.wait("keys answer it when you pause typing")
        terminal.type("y yes")
        terminal.wait("> say yes")
        assert "Allow shell: git fetch" in terminal.text
        terminal.type("\r")
        terminal.wait("y once")
        terminal.wait("queued: say yes")
        terminal.type("n")
        terminal.wait("So be it.")
        at_rest(terminal)


@pytest.mark.slow
def test_a_question_shows_all_of_what_would_change(shop: Path) -> None:
    """An edit of a file that others act on: its text stands in the question; Esc is a no."""
    workflow = ".github/workflows/ci.yml"
    steps = "".join(f"step {number}\n" for number in range(60))
    turns = [{"calls": [call("write", path=workflow, content=steps)]}, {"text": "Not written."}]
    with talk(shop, turns, rows=30) as terminal:
        at_rest(terminal)
        terminal.type("write it\r")
        terminal.wait(f"Allow write: {workflow}")
        terminal.wait("+ step 2")
        terminal.wait("more lines, press v to view them all")
        terminal.type("v")
        terminal.wait(lambda: "+ step 59" in terminal.everything)
        terminal.type("\x1b")
        terminal.wait("Not written.")
        at_rest(terminal)
        assert not (shop / workflow).exists()
        leave(terminal)


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
        terminal.wait("+ one\n+ two")  # two calls for one file: which of them is asked about is not told
        terminal.type("y")
        terminal.wait("+ three")
        terminal.type("n")
        terminal.wait("So be it.")
        assert (shop / workflow).read_text() == "two\n"


@pytest.mark.slow
def test_actions_that_run_at_once_ask_one_after_the_other(shop: Path) -> None:
    home = Home.from_environment()
    home.config.mkdir(parents=True)
    (home.config / "settings.toml").write_text('[permissions]\nask = ["read(*.py)"]\n')
    turns = [{"calls": [call("read", path="cart.py"), call("read", path="order.py")]}, {"text": "Both."}]
    with talk(shop, turns) as terminal:
        at_rest(terminal)
        terminal.type("look\r")
        terminal.wait("Allow read: cart.py")
        terminal.type("y")
        terminal.wait("Allow read: order.py")
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
        terminal.wait("y(es), s(ession)")
        terminal.type("yes\n")
        terminal.wait("Allow shell: bash ./make two")
        terminal.type("not now\n")
        terminal.wait("Allow run_tests?")
        terminal.type("y\n")
        terminal.wait("So be it.")
        assert (shop / "one").exists()
        assert not (shop / "two").exists()
        assert b"\x1b" not in terminal.raw

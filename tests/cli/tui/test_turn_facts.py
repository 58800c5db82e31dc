"""What the end of a turn, the plan and the lists say is how it is: red tests, commits, sessions, what can be redone."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.output.style.terminal import Terminal as Size
from cli.tui.frontend import Choice
from cli.tui.screen.picker import _Picker
from tests.support import cli
from tests.support.cli import call, git
from tests.support.talking import ask, at_rest, leave, logs, talk
from tests.support.terminal import Terminal

EDIT = call("edit", path="cart.py", old=" - 1", new="")

TEST = """\
def test_green():
    assert True


def test_red():
    assert False
"""


@pytest.fixture
def failing_shop(shop: Path) -> Path:
    """The shop with a test that fails, whatever is done."""
    (shop / "test_cart.py").write_text(TEST)
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "Test")
    return shop


@pytest.mark.slow
def test_red_tests_and_a_missing_commit_stand_in_the_summary(failing_shop: Path) -> None:
    turns = [{"calls": [EDIT]}, {"text": "It adds up."}]
    with talk(failing_shop, turns, columns=120) as terminal:
        at_rest(terminal)
        ask(terminal, "take the one away in cart.py", "It adds up.")
        [row] = [each for each in terminal.everything.split("\n") if each.startswith("! done")]
        assert "1 passed · 1 test fails as before" in row
        assert "not committed (/commit)" in row
        place = next(y for y, each in enumerate(terminal.screen.display) if each.startswith("! done"))
        assert terminal.screen.buffer[place][0].fg == "brown"  # yellow, as pyte names it
        leave(terminal)


@pytest.mark.slow
def test_a_pull_request_tells_the_tests_of_what_a_person_committed(shop: Path) -> None:
    git(shop, "switch", "-qc", "feature")
    turns = [{"calls": [EDIT]}, {"text": "It adds up."}]
    with talk(shop, turns, "--tests", "true") as terminal:
        at_rest(terminal)
        ask(terminal, "take the one away in cart.py", "It adds up.")
        ask(terminal, "/commit", "● git_commit")
        leave(terminal)
    assert cli.run("pr", "--base", "main", cwd=shop).code == 0
    assert "## Tests\n\n- exit 0" in (shop / ".git/patchwright-pr.md").read_text()


@pytest.mark.slow
def test_a_conversation_that_may_not_commit_says_so(shop: Path) -> None:
    with talk(
        shop, [{"calls": [EDIT]}, {"text": "It adds up."}], "--tests", "true", "--no-commit"
    ) as terminal:
        at_rest(terminal)
        ask(terminal, "take the one away in cart.py", "It adds up.")
        assert "/commit" not in terminal.everything
        ask(terminal, "/commit", "this session makes no commits")
        assert "there is no tool" not in terminal.everything
        leave(terminal)


@pytest.mark.slow
def test_what_a_rewind_of_the_conversation_took_back_is_redone(shop: Path) -> None:
    turns = [{"calls": [EDIT]}, {"text": "It adds up."}]
    with talk(shop, turns, "--tests", "true") as terminal:
        at_rest(terminal)
        ask(terminal, "mend the total", "It adds up.")
        terminal.type("/rewind 1 both\r")
        terminal.wait_beside(lambda: " - 1" in (shop / "cart.py").read_text())
        at_rest(terminal)
        terminal.type("/redo\r")
        terminal.wait_beside(lambda: " - 1" not in (shop / "cart.py").read_text())
        at_rest(terminal)
        ask(terminal, "/redo", "nothing to redo")
        terminal.type("/undo\r")
        terminal.wait_beside(lambda: " - 1" in (shop / "cart.py").read_text())
        at_rest(terminal)
        leave(terminal)


@pytest.mark.slow
def test_conversations_in_which_nothing_was_asked_are_not_listed(shop: Path) -> None:
    with talk(shop, [{"text": "First."}]) as terminal:
        at_rest(terminal)
        ask(terminal, "one", "First.")
        leave(terminal)
    [asked] = logs()
    with talk(shop, [{"text": "unused"}]) as terminal:
        at_rest(terminal)
        leave(terminal)
    listed = cli.run("sessions", cwd=shop)
    assert [row.split()[0] for row in listed.out.splitlines()] == [asked.parent.name]
    with talk(shop, [{"text": "Second."}]) as terminal:
        at_rest(terminal)
        terminal.type("/resume\r")
        terminal.wait("1 of 1")
        assert "nothing asked yet" not in terminal.text
        terminal.type("\x1b")
        at_rest(terminal)
        leave(terminal)
    with talk(shop, [{"text": "Second."}], "resume") as terminal:
        at_rest(terminal)
        assert "❯ one" in terminal.everything
        leave(terminal)


@pytest.mark.slow
def test_the_plan_goes_on_with_the_engine(failing_shop: Path) -> None:
    (failing_shop / "test_cart.py").write_text(
        "from types import SimpleNamespace as Item\n\nfrom cart import total\n\n\n"
        "def test_total():\n    assert total([Item(price=2), Item(price=3)]) == 5\n"
    )
    argv = [*cli.PATCHWRIGHT, "--model", "offline"]
    with Terminal(argv, cwd=failing_shop, env=cli.environment(), columns=80, rows=40) as terminal:
        at_rest(terminal)
        terminal.type("make the failing tests pass\r")
        terminal.wait(lambda: "✔ done" in terminal.everything)
        at_rest(terminal)
        begun = [each.strip() for each in terminal.everything.split("\n") if each.strip().startswith("▸")]
        assert begun[:4] == [
            "▸ Run the tests to see what fails",
            "▸ Locate the faults and search for changes",
            "▸ Apply the changes",
            "▸ Run all tests again",
        ]
        leave(terminal)


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_a_row_of_a_picker_that_is_cut_stands_whole_below(columns: int) -> None:
    size = Size(tty=True, dumb=False, colour=True, unicode=True, columns=columns, rows=24)
    about = " ".join(f"word{number}" for number in range(30))
    rows = [Choice(label="first", about=about), Choice(label="second", about="short")]
    picker = _Picker("Which?", rows, lambda: size, waits=False)
    shown = picker._get_preview()
    assert " ".join(shown.split()) == f"first {about}"
    assert max(map(len, shown.split("\n"))) <= columns - 3
    picker._move(1)
    assert picker._get_preview() == "", "nothing is cut there"

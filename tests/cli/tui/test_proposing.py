"""A doubtful change of the offline engine in a conversation: shown, and written only after a yes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.test_honest_ends import DOUBTFUL, FEE, PROMPT, project
from tests.end_to_end.test_reproduced_repair import CART, REPORT, TEST
from tests.support import cli
from tests.support.repo import Repo
from tests.support.talking import at_rest, leave
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return project(tmp_path / "fee", fee=FEE, test_fee=DOUBTFUL)


def talk_offline(repo: Repo) -> Terminal:
    argv = [*cli.PATCHWRIGHT, "--model", "offline"]
    return Terminal(argv, cwd=repo.root, env=cli.environment(), columns=80, rows=40)


def test_a_no_leaves_the_files_and_a_yes_writes_the_change(repo: Repo) -> None:
    with talk_offline(repo) as terminal:
        at_rest(terminal)
        terminal.type(f"{PROMPT}\r")
        terminal.wait(lambda: "Write this change of fee.py:5?" in terminal.text)
        terminal.type("n")
        at_rest(terminal)
        assert repo.read("fee.py") == FEE
        assert "confidence 0." in terminal.everything
        terminal.type(f"{PROMPT}\r")
        terminal.wait(lambda: "y  Yes, write it" in terminal.text)
        terminal.type("y")
        terminal.wait(lambda: "2 passed" in terminal.everything)
        at_rest(terminal)
        assert repo.read("fee.py") != FEE
        leave(terminal)


def test_each_doubtful_change_is_asked_about_and_another_one_chosen_by_arrow_keys(tmp_path: Path) -> None:
    """Two faults, each with its question; the answer to one says nothing of the other."""
    toll, test_toll = (
        FEE.replace("fee", "toll"),
        DOUBTFUL.replace("fee", "toll").replace("(4) == 8", "(5) == 10"),
    )
    repo = project(tmp_path / "fees", fee=FEE, test_fee=DOUBTFUL, toll=toll, test_toll=test_toll)
    with talk_offline(repo) as terminal:
        at_rest(terminal)
        terminal.type(f"{PROMPT}\r")
        terminal.wait(lambda: "· 1 of 2" in terminal.text)
        assert "more changes pass the same tests" in " ".join(terminal.everything.split())
        first = terminal.text[terminal.text.index("Write this change of ") :].split()[4].partition(":")[0]
        terminal.type("n")
        terminal.wait(lambda: "· 2 of 2" in terminal.text)
        second = "toll.py" if first == "fee.py" else "fee.py"
        assert f"Write this change of {second}:" in terminal.text
        terminal.type("\x1b[B\r")  # the answer after "Yes": another change
        terminal.wait("Which change? · 2 of 2")
        marked = next(row for row in terminal.text.split("\n") if row.startswith("› "))
        terminal.type("\x1b[B")
        terminal.wait(lambda: f"› {marked[2:]}" not in terminal.text and "\n› " in terminal.text)
        assert "│ +" in terminal.text, "the change itself is seen before it is taken"
        written = next(row for row in terminal.text.split("\n") if row.startswith("│ +"))[3:].strip()
        terminal.type("\r")
        terminal.wait("y  Yes, write it")
        terminal.type("y")
        terminal.wait("✗ tests fail")  # the fault with the no is still there
        at_rest(terminal)
        leave(terminal)
    assert repo.git("status", "--porcelain") == f" M {second}\n"
    assert written in repo.read(second)


def test_a_question_is_answered_and_changes_nothing(repo: Repo) -> None:
    with talk_offline(repo) as terminal:
        at_rest(terminal)
        terminal.type("what do the failing tests check?\r")
        terminal.wait(lambda: "only what can be looked up" in " ".join(terminal.everything.split()))
        at_rest(terminal)
        leave(terminal)
    assert repo.git("status", "--porcelain") == ""


def test_the_script_of_a_mended_bug_becomes_a_test_after_a_yes(tmp_path: Path) -> None:
    shop = Repo(tmp_path / "shop")
    shop.write("cart.py", CART)
    shop.write("tests/test_cart.py", TEST)
    shop.commit_all()
    with talk_offline(shop) as terminal:
        at_rest(terminal)
        terminal.type(f"\x1b[200~{REPORT}\x1b[201~\r")  # pasted
        terminal.wait(lambda: "Keep the reproduction as a test?" in terminal.text)
        assert "│ tests/test_reproduction.py " in terminal.text
        assert not (shop.root / "tests/test_reproduction.py").exists()
        terminal.type("y")
        at_rest(terminal)
        assert "discount=3) == 12" in shop.read("tests/test_reproduction.py")
        leave(terminal)

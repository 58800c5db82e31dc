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
        terminal.wait(lambda: "Write the proposed change?" in terminal.text)
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

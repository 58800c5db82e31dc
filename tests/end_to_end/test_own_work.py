"""What a person wrote and has not published is never taken back unasked: real repositories, real runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.exit_codes import Exit
from tests.support.cli import Result, call, run, script
from tests.support.repo import Repo

pytestmark = pytest.mark.slow

PROMPT = "make the failing tests pass"

SHOP = "def total(items):\n    return sum(price * n for price, n in items)\n"
HALF_DONE = (
    "def total(items):\n    # half done: taxes by kind of goods\n    net = sum(price * n for price, n in items)\n"
    "    tax = net * 0.19\n    return net + tax\n"
)
TEST_SHOP = """\
from shop import total


def test_total():
    assert total([(3, 2), (1, 1)]) == 7


def test_none():
    assert total([]) == 0
"""

CART = "def count(items, least=0):\n    return len([each for each in items if each > least])\n"
CART_NOW = CART.replace("each > least", "each >= least")
TEST_CART = """\
from cart import count


def test_count():
    assert count([0, 1, 2]) == 2


def test_least():
    assert count([3, 4], 3) == 1
"""


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    """A published start, three weeks old."""
    made = Repo(tmp_path / "r")
    for name, text in {
        "shop.py": SHOP,
        "test_shop.py": TEST_SHOP,
        "cart.py": CART,
        "test_cart.py": TEST_CART,
    }.items():
        made.write(name, text)
    made.write(".gitignore", "__pycache__\n.pytest_cache\n")
    for name in ("GIT_COMMITTER_DATE", "GIT_AUTHOR_DATE"):
        monkeypatch.setenv(name, "2024-03-01T12:00:00Z")
    made.commit_all("Start")
    for name in ("GIT_COMMITTER_DATE", "GIT_AUTHOR_DATE"):
        monkeypatch.delenv(name)
    return made


def repair(repo: Repo, *options: str, prompt: str = PROMPT) -> Result:
    return run("run", prompt, "--model", "offline", *options, cwd=repo.root)


@pytest.mark.parametrize("state", ["edited", "staged", "committed", "stashed beside it"])
@pytest.mark.parametrize(
    "options", [(), ("--apply",), ("--attempts", "2")], ids=["plain", "apply", "attempts"]
)
def test_it_is_named_as_the_suspect_and_left_alone(repo: Repo, state: str, options: tuple[str, ...]) -> None:
    if state == "stashed beside it":
        repo.write("cart.py", CART_NOW)
        repo.git("stash")
    repo.write("shop.py", HALF_DONE)
    if state == "staged":
        repo.git("add", "-A")
    if state == "committed":
        repo.commit_all("Begin with taxes")
    head, stashes, index = repo.head(), repo.git("stash", "list"), repo.index()
    ended = repair(repo, *options)
    assert ended.code in (Exit.NOT_ACHIEVED, Exit.TESTS_FAIL), ended.out + ended.err
    assert repo.read("shop.py") == HALF_DONE
    assert (repo.head(), repo.git("stash", "list"), repo.index()) == (head, stashes, index)
    work = "your commit" if state == "committed" else "your change that is not committed"
    assert work in ended.out
    assert "-    # half done" in ended.out


def test_two_places_are_both_left_alone(repo: Repo) -> None:
    repo.write("shop.py", HALF_DONE)
    repo.write("cart.py", CART_NOW)
    ended = repair(repo)
    assert ended.code != Exit.DONE
    assert (repo.read("shop.py"), repo.read("cart.py")) == (HALF_DONE, CART_NOW)


def test_it_is_taken_back_once_the_person_says_so(repo: Repo) -> None:
    repo.write("shop.py", HALF_DONE)
    repair(repo)
    accepted = run("resume", "-p", "apply it", cwd=repo.root)
    assert accepted.code == Exit.DONE, accepted.out
    assert repo.read("shop.py") == SHOP


def test_a_slip_within_it_is_mended(repo: Repo) -> None:
    new = SHOP.replace("price * n for price, n in items)", "price * n for price, n in itms)")
    repo.write("shop.py", new + "\n\ndef label(kind):\n    return kind.upper()\n")
    ended = repair(repo, "--no-commit")  # a commit could not tell the mended line from theirs
    assert ended.code == Exit.DONE, ended.out
    assert "for price, n in items)" in repo.read("shop.py")
    assert "label" in repo.read("shop.py")


def test_an_old_commit_that_brought_a_fault_is_taken_back(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2024-04-01T12:00:00Z")
    repo.write("cart.py", CART_NOW)
    repo.commit_all("Count the least as well")
    ended = repair(repo)
    assert ended.code == Exit.DONE, ended.out
    assert repo.read("cart.py") == CART


@pytest.mark.parametrize("apply", [(), ("--apply",)], ids=["plain", "apply"])
def test_the_command_repair_leaves_it_alone(repo: Repo, apply: tuple[str, ...]) -> None:
    repo.write("shop.py", HALF_DONE)
    ended = run("repair", *apply, cwd=repo.root)
    assert ended.code == Exit.TESTS_FAIL
    assert repo.read("shop.py") == HALF_DONE
    assert "suspect: your change that is not committed" in ended.out


@pytest.mark.parametrize(("prompt", "kept"), [(PROMPT, True), ("undo my change in shop.py", False)])
def test_a_model_that_takes_it_back_has_not_achieved_it(
    repo: Repo, tmp_path: Path, prompt: str, kept: bool
) -> None:
    repo.write("shop.py", HALF_DONE)
    head = repo.head()
    model = script(
        tmp_path,
        [
            {"calls": [call("read", path="shop.py")]},
            {"calls": [call("write", path="shop.py", content=SHOP)]},
            *[{"text": "Done: all tests pass."}] * 4,
        ],
    )
    ended = run("run", prompt, "--model", model, cwd=repo.root)
    if kept:
        assert ended.code == Exit.NOT_ACHIEVED, ended.out
        assert "takes back what the user had changed" in ended.out + ended.err
        assert repo.head() == head
        assert run("undo", cwd=repo.root).code == Exit.DONE
        assert repo.read("shop.py") == HALF_DONE
    else:
        assert "takes back what the user" not in ended.out + ended.err

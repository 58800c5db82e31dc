"""`patchwright run --attempts N`: several sessions in work trees of their own, of which the best comes back."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from agent.session.log import read_events
from cli.output.session_export import export_session
from tests.support.cli import PATCHWRIGHT, Result, call, environment, run, script
from tests.support.repo import Repo
from tools.git.git_process import Git
from tools.git.worktrees import temporary_worktree

pytestmark = pytest.mark.slow  # each test starts several sessions

RIGHT = "def total(prices):\n    return sum(prices)\n"
TESTS = "from cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
UNCONFINED = ("--sandbox", "unconfined", "--mode", "full")
"""So that attempts can find out which of them is the first: each is told the same."""


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", "def total(prices):\n    return -sum(prices)\n")
    repo.write("test_cart.py", TESTS)
    repo.write(".gitignore", "__pycache__/\n.pytest_cache/\n")
    repo.commit_all()
    return repo


def attempt(repo: Repo, turns: list[dict[str, Any]], count: int = 2) -> Result:
    model = script(repo.root.parent, turns)
    return run("run", "mend the cart", "--attempts", str(count), "--model", model, *UNCONFINED, cwd=repo.root)


def lottery(place: Path, *commands: str) -> str:
    """A command line of which each attempt runs another part."""
    parts = [
        f"if mkdir '{place}/{number}' 2>/dev/null; then {line}\n" for number, line in enumerate(commands)
    ]
    return "el".join(parts) + "fi"


def find_logs() -> list[Path]:
    data = Home.from_environment(environment()).data
    return sorted((data / "projects").glob("shop-*/sessions/*/log.jsonl"))


def nothing_left(repo: Repo) -> None:
    home = Home.from_environment(environment())
    assert repo.git("worktree", "list").count("\n") == 1
    assert list((home.cache / "worktrees").iterdir()) == []
    assert [path.name.split("-")[0] for path in (home.data / "projects").iterdir()] == ["shop"]


def test_the_attempt_that_the_tests_like_best_comes_back_beside_the_users_own_changes(shop: Repo) -> None:
    draw = lottery(
        shop.root.parent / "drawn",
        "printf 'def total(prices):\\n    return 0\\n' > cart.py",
        "rm test_cart.py; printf 'def test_nothing():\\n    assert True\\n' > test_other.py",
        f"printf '{RIGHT.replace(chr(10), chr(92) + 'n')}' > cart.py; chmod +x cart.py; printf '\\0' > data.bin",
    )
    (shop.root.parent / "drawn").mkdir()
    shop.write("mine.txt", "mine\n")
    shop.write("test_cart.py", TESTS + "# mine\n")
    shop.git("add", "mine.txt")
    index = shop.index()
    done = attempt(
        shop, [{"calls": [call("shell", command=draw)]}, {"text": "Let total add up."}, {"text": "No."}], 3
    )
    assert (done.code, done.out) == (0, "Let total add up.\n"), done.err
    told = [line for line in done.err.splitlines() if line.startswith("attempt ")]
    assert len(told) == 3
    assert sum("1 failed" in line for line in told) == 1
    assert sum("weakened" in line for line in told) == 1
    assert shop.read("cart.py") == RIGHT
    assert sorted(shop.committed()) == ["cart.py", "data.bin"], "and nothing of the user's"
    assert shop.read("test_cart.py").endswith("# mine\n")
    assert {path: entry for path, entry in shop.index().items() if path in index and path != "cart.py"} == {
        path: entry for path, entry in index.items() if path != "cart.py"
    }
    nothing_left(shop)
    assert "is applied: its tests came out best" in done.err
    logs: dict[str, list[Any]] = {log.parent.name: list(read_events(log.parent)) for log in find_logs()}
    assert len(logs) == 4
    (session,) = [name for name, log in logs.items() if log[0].started_by is None]
    parent = logs[session]
    candidates = [each for each in parent if each.kind == "candidate"]
    assert sorted(each.attempt for each in candidates) == [1, 2, 3]
    assert {each.child for each in candidates} == logs.keys() - {session}
    tests = [each for each in parent if each.kind == "verdict" and each.name == "tests"]
    assert sorted(str(each.attempt) for each in tests) == ["1", "2", "3", "None"]
    (choice,) = [each for each in parent if each.kind == "choice"]
    (applied,) = [each for each in candidates if each.attempt == choice.attempt]
    assert applied.verification.startswith("passed: 1 passed")
    exported = shop.root.parent / "session.md"
    export_session(find_logs()[0].parents[1] / session, exported)
    page = exported.read_text("utf-8")
    assert f"**attempt {choice.attempt}: passed: 1 passed" in page
    assert f"session `{applied.child}`" in page
    assert run("undo", cwd=shop.root).code == 0
    assert shop.read("cart.py") != RIGHT
    assert not (shop.root / "data.bin").exists()


def test_what_no_attempt_can_do_is_told_and_changes_nothing(shop: Repo) -> None:
    refused = attempt(shop, [{"error": "credentials"}])
    assert refused.code == 8
    assert "no attempt finished" in refused.err
    answered = attempt(shop, [{"text": "It is a cart."}])
    assert (answered.code, answered.out) == (13, "It is a cart.\n"), "a change was asked for"
    assert shop.git("status", "--porcelain") == ""
    nothing_left(shop)


def test_what_changed_here_meanwhile_is_not_overwritten_and_the_patch_is_kept(shop: Repo) -> None:
    command = f"printf 'def total(prices):\\n    return sum(prices)\\n' > cart.py; echo mine > '{shop.root}/cart.py'"
    done = attempt(shop, [{"calls": [call("shell", command=command)]}, {"text": "Done."}])
    assert done.code == 13, done.err
    assert "git apply --3way" in done.out
    assert shop.read("cart.py") == "mine\n"
    assert shop.git("log", "--format=%s").count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--mode", "read-only"), "read-only"),
        (("--session", "x"), "--attempts cannot be combined"),
        (("--attempts", "17"), "17"),
    ],
)
def test_mistakes_are_told_before_anything_begins(shop: Repo, arguments: tuple[str, ...], words: str) -> None:
    done = run("run", "x", "--attempts", "2", "--model", "offline", *arguments, cwd=shop.root)
    assert done.code == 2
    assert words in done.err


def test_a_repository_without_a_commit_has_nothing_to_begin_with(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    done = run("run", "x", "--attempts", "2", "--model", "offline", cwd=repo.root)
    assert done.code == 2
    assert "needs a commit" in done.err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_attempts_end_with_the_session_that_waits_for_them(shop: Repo, number: signal.Signals) -> None:
    pids = shop.root.parent / "pids"
    pids.mkdir()
    # A moment after its start: until then the watchdog may not know it.
    turns = [
        {"calls": [call("shell", command=f"sleep 0.3; echo > '{pids}'/$$; exec sleep 300")]},
        {"text": "Done."},
    ]
    model = script(shop.root.parent, turns)
    command = [*PATCHWRIGHT, "run", "x", "--attempts", "2", "--model", model, *UNCONFINED]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(
        command, cwd=shop.root, env=environment(), stdin=quiet, stdout=quiet, stderr=quiet
    ) as process:
        wanted = min(2, os.cpu_count() or 1)
        _until(lambda: len(list(pids.iterdir())) == wanted or process.poll() is not None)
        assert process.poll() is None
        process.send_signal(number)
        process.wait(60)
    running = [int(path.name) for path in pids.iterdir()]
    _until(lambda: not any(_runs(pid) for pid in running))
    if number is signal.SIGKILL:  # which lets nobody clean up: the next one does
        with temporary_worktree(
            Git(shop.root), "HEAD", Home.from_environment(environment()).cache / "worktrees"
        ):
            pass
        assert shop.git("worktree", "list").count("\n") == 1
    else:
        assert process.returncode == 130
        nothing_left(shop)
    assert shop.git("status", "--porcelain") == ""


def _runs(pid: int) -> bool:
    """Whether it does; one that has ended may wait for a parent that never asks (this one, if it adopts orphans)."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    except OSError:
        return False


def _until(holds: Any) -> None:
    deadline = time.monotonic() + 100
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)

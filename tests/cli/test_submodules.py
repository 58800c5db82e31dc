"""Files of a submodule, or of another repository inside: edits are refused, and undo says what it does not cover."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Result, call, run, script
from tests.support.repo import Repo

pytestmark = pytest.mark.slow  # each test starts the whole program

HELP = "run patchwright inside it (patchwright run … -C lib)"
WRONG = "def double(number):\n    return number + number + 1\n"
TEST = "from lib.double import double\n\n\ndef test_double():\n    assert double(2) == 4\n"


@pytest.fixture(params=["submodule", "repository"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Repo:
    """A repository with one inside: a submodule, or one that is nobody's."""
    inner = Repo(tmp_path / "inner")
    inner.write("double.py", WRONG)
    inner.commit_all()
    repo = Repo(tmp_path / "shop")
    repo.write("test_double.py", TEST)
    repo.write(".gitignore", "__pycache__/\n.pytest_cache/\n")
    if request.param == "submodule":
        allowed = ("-c", "protocol.file.allow=always")
        repo.git(*allowed, "submodule", "--quiet", "add", str(inner.root), "lib")
    else:
        repo.git("clone", "-q", str(inner.root), "lib")
        repo.write(".gitignore", "__pycache__/\n.pytest_cache/\nlib/\n")
    repo.commit_all()
    return repo


def ask(shop: Repo, *calls: dict[str, Any]) -> Result:
    """A turn that makes the calls, one after the other, and ends."""
    model = script(shop.root.parent, [*({"calls": [each]} for each in calls), {"text": "Done."}])
    return run("run", "go", "--model", model, "--output", "stream-json", cwd=shop.root)


def observations(done: Result) -> list[str]:
    return [event["text"] for event in done.events if event["kind"] == "observation"]


def test_every_edit_tool_refuses_and_says_where_to_run(shop: Repo) -> None:
    patch = "*** Begin Patch\n*** Add File: lib/new.py\n+x = 1\n*** End Patch\n"
    (shop.root / "way").symlink_to("lib")
    calls = [
        call("read", path="lib/double.py"),
        call("edit", path="lib/double.py", old=" + 1", new=""),
        call("edit_lines", path="lib/double.py", first=2, last=2, new="    return 2 * number\n"),
        call("edit_symbol", path="lib/double.py", symbol="double", new="def double(n):\n    return 2 * n\n"),
        call("write", path="lib/new.py", content="x = 1\n"),
        call("write", path="way/new.py", content="x = 1\n"),
        call("apply_patch", patch=patch),
    ]
    done = ask(shop, *calls)
    _, *refused = [text for text in observations(done) if "lib" in text]
    assert len(refused) == len(calls) - 1
    assert all("belongs to the repository in 'lib'" in text and HELP in text for text in refused), refused
    assert shop.read("lib/double.py") == WRONG
    assert not (shop.root / "lib/new.py").exists()
    assert run("run", "go", "--model", script(shop.root.parent, [
        {"calls": [call("edit", path="double.py", old=" + 1", new="")]}, {"text": "Make it double."},
    ]), cwd=shop.root / "lib").code in (0, 10)  # fmt: skip
    assert shop.read("lib/double.py") == WRONG.replace(" + 1", "")


@pytest.mark.parametrize("shop", ["submodule"], indirect=True)
@pytest.mark.parametrize("gone", [False, True])
def test_nothing_is_put_where_a_submodule_is_not_checked_out(gone: bool, shop: Repo) -> None:
    shop.git("submodule", "--quiet", "deinit", "-f", "lib")
    if gone:
        (shop.root / "lib").rmdir()
    [said] = observations(ask(shop, call("write", path="lib/new.py", content="x = 1\n")))
    assert f"check it out (git submodule update --init lib) and {HELP}" in said
    assert not (shop.root / "lib/new.py").exists()


@pytest.mark.parametrize("check", [(), ("--check",)])
def test_apply_refuses_too(check: tuple[str, ...], shop: Repo) -> None:
    patch = (
        "--- a/lib/double.py\n+++ b/lib/double.py\n@@ -2 +2 @@\n"
        "-    return number + number + 1\n+    return 2 * number\n"
    )
    shop.root.parent.joinpath("change.patch").write_text(patch)
    done = run("apply", str(shop.root.parent / "change.patch"), *check, cwd=shop.root)
    assert done.code == 13
    assert HELP in done.err
    assert shop.read("lib/double.py") == WRONG


def test_the_offline_engine_does_not_repair_it_and_comes_to_an_end(shop: Repo) -> None:
    done = run("run", "make the failing test pass", "--model", "offline", cwd=shop.root)
    assert done.code in (1, 13), done.err
    assert shop.read("lib/double.py") == WRONG
    repaired = run("repair", "--tests", "all", "--apply", cwd=shop.root)
    assert repaired.code not in (0, 70), repaired.err
    assert shop.read("lib/double.py") == WRONG


def test_a_fix_beside_a_submodule_with_failing_tests_says_where_these_are_mended(shop: Repo) -> None:
    (shop.root / "lib/test_inner.py").write_text(
        "from double import double\n\n\ndef test_it():\n    assert double(1) == 2\n"
    )
    shop.write("half.py", "def half(number):\n    return number * 2\n")
    shop.write("test_half.py", "from half import half\n\n\ndef test_half():\n    assert half(6) == 3\n")
    shop.write("test_double.py", "")
    shop.commit_all()
    done = run("run", "make the failing tests pass", "--model", "offline", cwd=shop.root)
    assert done.code == 1, done.err
    assert "Still failing:\n\n    lib/test_inner.py::test_it" in done.out
    assert f"lib/ is a repository of its own: its files are not changed from here; {HELP}" in done.out


def test_undo_says_what_a_command_changed_there(shop: Repo) -> None:
    command = "echo 'x = 1' >> lib/double.py; echo hello > lib/new.py"
    ask(shop, call("shell", command=command))
    assert shop.read("lib/new.py") == "hello\n"
    left = (
        "not undone: 2 files of the repository in 'lib' changed since the session began (git -C lib status)"
    )
    nothing = run("undo", cwd=shop.root)
    assert nothing.code == 3
    assert left in nothing.err
    assert "no change of a session's is left in the files" not in nothing.err
    ask(shop, call("shell", command="echo more >> lib/new.py; echo mine > own.txt"))
    undone = run("undo", cwd=shop.root)
    assert (undone.code, (shop.root / "own.txt").exists()) == (0, False), undone.err
    assert "not undone: 1 file of the repository in 'lib' changed" in undone.err


def test_undo_says_nothing_of_what_changed_before_the_session(shop: Repo) -> None:
    shop.write("lib/new.py", "x = 1\n")
    ask(shop, call("write", path="own.txt", content="mine\n"))
    undone = run("undo", cwd=shop.root)
    assert (undone.code, undone.err) == (0, "")

"""The patch from one attempt's files to another's, in real repositories."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.strategy.person.patch_exchange import ExchangeRefused, build_difference, build_exchange
from tests.support.repo import Repo
from tools.git.git_process import Git
from tools.git.worktrees import apply_patch, temporary_worktree


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("a.py", "one\ntwo\nthree\n")
    repo.write("b.bin", b"\0\1\2")
    repo.write("gone.py", "x\n")
    repo.commit_all()
    return repo


def open_git(repo: Repo) -> Git:
    return Git(repo.root, alone=True, own_filters=True)


def make_patch(repo: Repo, changes: dict[str, str | bytes | None], base: str = "HEAD") -> bytes:
    """The patch of an attempt that made some changes; None removes a file."""
    with temporary_worktree(open_git(repo), base, repo.root.parent / "trees") as tree:
        for path, content in changes.items():
            file = tree.folder / path
            if content is None:
                file.unlink()
            else:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return tree.build_patch()


def test_one_change_takes_the_place_of_the_other_in_one_patch(shop: Repo) -> None:
    first = make_patch(
        shop, {"a.py": "ONE\ntwo\nthree\n", "new file.py": "n\n", "b.bin": b"\0\7", "gone.py": None}
    )
    second = make_patch(shop, {"a.py": "one\ntwo\nTHREE\n"})
    git = open_git(shop)
    apply_patch(git, first)
    shop.write("mine.txt", "mine\n")
    apply_patch(git, build_exchange(git, first, second))
    assert shop.read("a.py") == "one\ntwo\nTHREE\n"
    assert (shop.root / "b.bin").read_bytes() == b"\0\1\2"
    assert shop.read("gone.py") == "x\n"
    assert not (shop.root / "new file.py").exists()
    assert shop.read("mine.txt") == "mine\n"
    assert build_exchange(git, second, second) == b""


def test_a_change_that_was_undone_is_passed_over(shop: Repo) -> None:
    first, second = make_patch(shop, {"a.py": "ONE\n"}), make_patch(shop, {"a.py": "TWO\n"})
    git = open_git(shop)
    apply_patch(git, build_exchange(git, first, second))
    assert shop.read("a.py") == "TWO\n"


@pytest.mark.parametrize("path", ["a.py", "gone.py", "new.py"])
def test_a_file_that_changed_since_is_refused_by_name(shop: Repo, path: str) -> None:
    first = make_patch(shop, {"a.py": "ONE\n", "gone.py": None, "new.py": "n\n"})
    git = open_git(shop)
    apply_patch(git, first)
    shop.write(path, "mine\n")
    with pytest.raises(ExchangeRefused, match=f"{path} changed since"):
        build_exchange(git, first, make_patch(shop, {"a.py": "TWO\n"}))
    assert shop.read(path) == "mine\n"


def test_a_file_of_the_person_in_the_way_is_refused(shop: Repo) -> None:
    wanted = make_patch(shop, {"new.py": "theirs\n"})
    shop.write("new.py", "mine\n")
    with pytest.raises(ExchangeRefused, match="does not fit the present files"):
        build_exchange(open_git(shop), b"", wanted)
    assert shop.read("new.py") == "mine\n"


def test_the_difference_of_two_attempts_has_only_what_differs(shop: Repo) -> None:
    first = make_patch(shop, {"a.py": "one\nTWO\nthree\n", "new.py": "n\n"})
    second = make_patch(shop, {"a.py": "one\nTWO\nTHREE\n", "new.py": "n\n"})
    text = build_difference(open_git(shop), "HEAD", first, second).decode()
    assert "-three\n+THREE\n" in text
    assert "new.py" not in text

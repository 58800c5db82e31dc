"""Fresh work of a person: which commits count, and which changes take it back. Real repositories."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.support.repo import Repo
from tools.git.fresh_work import (
    FRESH_SECONDS,
    EarlierVersion,
    find_taken_back,
    list_restored_lines,
    read_earlier_versions,
)

OLD = "def total(items):\n    return sum(p * n for p, n in items)\n\n\ndef label(kind):\n    return kind.upper()\n"
NEW = (
    "def total(items):\n    # half done: taxes\n    net = sum(p * n for p, n in items)\n    tax = net * 0.19\n"
    "    return net + tax\n\n\ndef label(kind):\n    return kind.upper()\n"
)


def commit(repo: Repo, text: str, age: float, monkeypatch: pytest.MonkeyPatch) -> str:
    date = f"{int(time.time() - age)} +0000"
    monkeypatch.setenv("GIT_COMMITTER_DATE", date)
    monkeypatch.setenv("GIT_AUTHOR_DATE", date)
    repo.write("shop.py", text)
    return repo.commit_all()


def works(repo: Repo) -> list[str]:
    return [each.work for each in read_earlier_versions(repo.root, ["shop.py"]).get("shop.py", [])]


def test_what_is_not_committed_is_fresh_also_when_staged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = Repo(tmp_path / "r")
    commit(repo, OLD, 2 * FRESH_SECONDS, monkeypatch)
    repo.write("shop.py", NEW)
    repo.git("add", "-A")
    assert works(repo) == ["your change that is not committed"]
    assert read_earlier_versions(repo.root, ["shop.py"])["shop.py"][0].text == OLD


@pytest.mark.parametrize(
    ("age", "fresh"), [(60, True), (FRESH_SECONDS - 900, True), (FRESH_SECONDS + 900, False)]
)
def test_a_commit_of_the_last_two_weeks_is_fresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, age: float, fresh: bool
) -> None:
    repo = Repo(tmp_path / "r")
    commit(repo, OLD, 4 * FRESH_SECONDS, monkeypatch)
    made = commit(repo, NEW, age, monkeypatch)
    assert any(made[:10] in each for each in works(repo)) is fresh


def test_an_old_commit_is_fresh_until_it_is_pushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = Repo(tmp_path / "r")
    commit(repo, OLD, 4 * FRESH_SECONDS, monkeypatch)
    repo.git("update-ref", "refs/remotes/origin/main", "HEAD")
    made = commit(repo, NEW, 3 * FRESH_SECONDS, monkeypatch)
    assert f"your commit {made[:10]}, not pushed yet" in works(repo)
    repo.git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert len(works(repo)) == 1


@pytest.mark.parametrize("how", ["no repository", "no commit", "new file"])
def test_without_an_earlier_version_there_is_nothing_to_take_back(tmp_path: Path, how: str) -> None:
    (tmp_path / "r").mkdir()
    if how != "no repository":
        repo = Repo(tmp_path / "r")
        if how == "new file":
            repo.write("a", "")
            repo.commit_all()
    (tmp_path / "r" / "shop.py").write_text(NEW)
    assert read_earlier_versions(tmp_path / "r", ["shop.py"]) == {}


TAKEN_BACK = {
    "the whole change": (NEW, OLD),
    "one line of before returns": ("a\nb = 1 < 2\nc\n", "a\nb = 1 <= 2\nc\n"),
    "a line goes": (NEW, NEW.replace("    tax = net * 0.19\n", "")),
    "an operand goes": (NEW, NEW.replace("net + tax", "net")),
    "what was removed returns": ("a\nc\n", "a\nb = 1 <= 2\nc\n"),
}
KEPT = {
    "a misspelt name": (NEW.replace("net + tax", "net + txa"), NEW),
    "an operator": (NEW, NEW.replace("net + tax", "net - tax")),
    "elsewhere": (NEW, NEW.replace("upper", "lower")),
    "something more": (NEW, NEW.replace("net + tax", "round(net + tax)")),
}


@pytest.mark.parametrize("name", TAKEN_BACK)
def test_it_is_taken_back(name: str) -> None:
    now, after = TAKEN_BACK[name]
    old = OLD if "total" in now else "a\nb = 1 <= 2\nc\n"
    assert find_taken_back(now, after, [EarlierVersion(text=old, work="mine")]) == "mine"


@pytest.mark.parametrize("name", KEPT)
def test_a_repair_within_it_takes_nothing_back(name: str) -> None:
    now, after = KEPT[name]
    assert find_taken_back(now, after, [EarlierVersion(text=OLD, work="mine")]) == ""


def test_a_change_that_is_wholly_gone_is_found_by_its_first_line() -> None:
    other = NEW.replace("upper", "title")
    assert list_restored_lines(other, OLD.replace("upper", "title"), OLD) == [2]
    assert list_restored_lines(other, OLD, OLD) == [2, 9]
    assert (
        list_restored_lines(other, NEW.replace("net * 0.19", "net // 5").replace("upper", "title"), OLD) == []
    )
    assert list_restored_lines(NEW, OLD + "\n\nEND = 1\n", OLD) == [2]

"""Snapshots cover what git tracks or would track: the verdicts of the ignore rules are git's own, for every path."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.snapshots.object_store import EMPTY_TREE
from sandbox.snapshots.snapshot_view import View
from sandbox.snapshots.workspace_snapshots import Snapshots
from tests.support.repo import Repo

NAMES = ("a", "b", "data", "x.log", "keep", "Über", "a b")
PIECES = ("a", "b", "data", "x.log", "keep", "*", "**", "?", "*.log", "[ab]", "Über", "a b", "d*")


@pytest.fixture(autouse=True)
def user_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    settings = tmp_path / "gitconfig"
    settings.write_text("[user]\nname = u\nemail = u@example.invalid\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    return settings


def list_visible(repo: Repo) -> set[str]:
    """Return what git tracks, or would add, of the files that are there."""
    listed = repo.git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    return {path for path in listed if path and (repo.root / path).is_file()}


def list_covered(root: Path, store: Path) -> set[str]:
    snapshots = Snapshots(root, store)
    snapshot = snapshots.take()
    view = View.load(snapshots._store, snapshot)
    found = {path for path, _ in view.store.iterate_differences(EMPTY_TREE, view.tree)}
    snapshots.close()
    return found


def draw_rules(draw: random.Random) -> str:
    rules = []
    for _ in range(draw.randint(0, 5)):
        pattern = "/".join(draw.choice(PIECES) for _ in range(draw.choice((1, 1, 2, 3))))
        rules.append(
            f"{draw.choice(('', '', '!'))}{draw.choice(('', '/'))}{pattern}{draw.choice(('', '', '/'))}"
        )
        if rules[-1] in ("/", "!/"):
            rules.pop()
    return "\n".join(rules) + "\n"


def draw_paths(draw: random.Random) -> Iterator[str]:
    for _ in range(25):
        yield "/".join(draw.choice(NAMES) for _ in range(draw.randint(1, 4)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_random_rules_give_gits_verdicts(tmp_path: Path, user_settings: Path, seed: int) -> None:
    draw = random.Random(seed)
    repo = Repo(tmp_path / "repo")
    for path in draw_paths(draw):
        place = repo.root / path
        if not place.exists() and not any(each.is_file() for each in place.parents):
            repo.write(path, "text\n")
    tracked = draw.sample(sorted(repo.git("ls-files", "-z", "--others").split("\0"))[1:], 3)
    repo.git("add", "-f", "--", *tracked)
    folders = [each for each in repo.root.rglob("*") if each.is_dir() and ".git" not in each.parts]
    for folder in (repo.root, *draw.sample(sorted(folders), min(2, len(folders)))):
        (folder / ".gitignore").write_text(draw_rules(draw))
    (repo.root / ".git/info/exclude").write_text(draw_rules(draw))
    (tmp_path / "ignore").write_text(draw_rules(draw))
    with user_settings.open("a") as file:
        file.write(f"[core]\nexcludesFile = {tmp_path / 'ignore'}\n")
    assert list_covered(repo.root, tmp_path / "store") == list_visible(repo)
    inner = [path.partition("/")[0] for path in list_visible(repo) if "/" in path]
    if inner:  # a workspace that is a part of its repository
        folder = draw.choice(sorted(inner))
        expected = {path.partition("/")[2] for path in list_visible(repo) if path.startswith(f"{folder}/")}
        hidden = repo.git("check-ignore", "--no-index", folder, check=False)
        if not hidden:
            assert list_covered(repo.root / folder, tmp_path / "store-2") == expected


LAYOUTS = {
    "wordpress": (
        "wp/*\n!wp/themes/\nwp/themes/*\n!wp/themes/mine/\n",
        "wp/themes/mine/f.php",
        "wp/core.php",
    ),
    "symfony": ("bin/*\n!bin/console\n", "bin/console", "bin/tool"),
    "placeholder": ("data/*\n!data/README.md\n", "data/README.md", "data/big.csv"),
    "all but folders": ("*\n!*/\n!*.py\n!.gitignore\n", "deep/er/a.py", "deep/er/a.txt"),
    "anchored": ("/*\n!/src\n!/.gitignore\n", "src/a/b.c", "other/b.c"),
    "double star": ("out/**\n!out/**/\n!out/**/keep.txt\n", "out/a/b/keep.txt", "out/a/b/c.txt"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_untracked_draft_in_a_folder_taken_back_is_restored(tmp_path: Path, layout: str) -> None:
    rules, shown, hidden = LAYOUTS[layout]
    repo = Repo(tmp_path / "repo")
    repo.write(".gitignore", rules)
    repo.write(shown, "a draft\n")
    repo.write(hidden, "built\n")
    snapshots = Snapshots(repo.root, tmp_path / "store")
    before = snapshots.take()
    (repo.root / shown).unlink()
    (repo.root / hidden).unlink()
    after = snapshots.take()
    assert [change.path for change in snapshots.list_changes(before, after)] == [shown]
    snapshots.revert_unchanged([(before, after)])
    assert repo.read(shown) == "a draft\n"
    snapshots.close()


def test_a_change_of_the_users_own_list_is_seen(tmp_path: Path, user_settings: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.write("b.py", "x\n")
    snapshots = Snapshots(repo.root, tmp_path / "store")
    before = snapshots.take()
    (tmp_path / "ignore").write_text("*.tmp\n")
    repo.git("config", "core.excludesFile", str(tmp_path / "ignore"))
    repo.write("c.tmp", "x\n")
    assert not snapshots.list_changes(before, snapshots.take())
    (tmp_path / "ignore").unlink()
    repo.write("c.tmp", "y\n")
    assert [each.path for each in snapshots.list_changes(before, snapshots.take())] == ["c.tmp"]
    snapshots.close()

"""The inventory after changes is what a new walk finds, with and without the kernel's reports."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from sandbox.guards.workspace_inventory import MOST_SELF_RUN, Inventory
from tests.support.stress import count_cases


def state(inventory: Inventory) -> tuple[object, ...]:
    return sorted(inventory.list_folders()), inventory.list_repositories(), inventory.list_guarded()


@pytest.mark.slow
@pytest.mark.parametrize("watch_from", [1, 10**6], ids=["watched", "looked at"])
def test_it_agrees_with_a_new_walk_after_any_changes(tmp_path: Path, watch_from: int) -> None:
    rounds = count_cases(60)
    draw = random.Random(int(os.environ.get("PATCHWRIGHT_SEED", "5")))
    root = tmp_path / "root"
    root.mkdir()
    inventory = Inventory(root, worth_watching=watch_from)
    inventory.refresh()
    for _ in range(rounds):
        for _ in range(draw.randrange(4)):
            change(root, draw)
        inventory.refresh()
        fresh = Inventory(root, worth_watching=watch_from)
        fresh.refresh()
        assert state(inventory) == state(fresh)
    inventory.reload()
    assert inventory.list_linked() == fresh.list_linked()


def change(root: Path, draw: random.Random) -> None:
    folders = [root, *(each for each in root.rglob("*") if each.is_dir() and not each.is_symlink())]
    files = [each for each in root.rglob("*") if each.is_file() and not each.is_symlink()]
    names = ["a", "b", ".git", "HEAD", "objects", "refs", ".vscode", ".envrc", "node_modules"]
    place = draw.choice(folders) / draw.choice(names)
    match draw.randrange(7):
        case 0 | 1 if not place.exists() and len(place.parts) < 12:
            place.mkdir()
        case 2 if not place.exists() and not place.is_symlink():
            place.write_text("x")
        case 3 if files and not place.exists() and not place.is_symlink():
            os.link(draw.choice(files), place)
        case 4 if len(folders) > 1 and not place.exists() and not place.is_symlink():
            source = draw.choice(folders[1:])
            if source not in (place, *place.parents):
                source.rename(place)
        case 5 if files:
            draw.choice(files).unlink()
        case 6 if draw.random() < 0.3 and len(folders) > 1:
            shutil.rmtree(draw.choice(folders[1:]))


def test_a_swap_of_two_folders_is_seen(tmp_path: Path) -> None:
    for watch_from in (1, 10**6):
        root = tmp_path / str(watch_from)
        (root / "a" / "sub").mkdir(parents=True)
        (root / "b" / "sub").mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(root / "a" / "sub")], check=True)
        inventory = Inventory(root, worth_watching=watch_from)
        inventory.refresh()
        inventory.refresh()
        assert inventory.list_repositories() == {"a/sub/.git"}
        (root / "a").rename(root / "c")
        (root / "b").rename(root / "a")
        (root / "c").rename(root / "b")
        inventory.refresh()
        assert inventory.list_repositories() == {"b/sub/.git"}


def test_places_are_guarded_nearest_first_and_none_in_folders_of_packages(tmp_path: Path) -> None:
    for name in ("node_modules/x", "pkg", "pkg/.vscode/deep", *(f"many/{n:03}" for n in range(60))):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / ".npmrc").write_text("")
    inventory = Inventory(tmp_path)
    inventory.refresh()
    found = [each.relative_to(tmp_path).as_posix() for each in inventory.list_guarded()]
    assert found[:2] == ["pkg/.npmrc", "pkg/.vscode"]
    assert len(found) == MOST_SELF_RUN
    assert not [each for each in found if "node_modules" in each or each.startswith("pkg/.vscode/")]


def test_a_file_that_is_called_like_a_part_of_git_is_no_repository(tmp_path: Path) -> None:
    (tmp_path / "a" / "objects").mkdir(parents=True)
    (tmp_path / "a" / "refs").mkdir()
    (tmp_path / "b" / ".git").mkdir(parents=True)
    inventory = Inventory(tmp_path)
    inventory.refresh()
    assert inventory.list_repositories() == set()
    (tmp_path / "a" / "HEAD").write_text("ref: refs/heads/x\n")
    inventory.refresh()
    assert inventory.list_repositories() == {"a"}

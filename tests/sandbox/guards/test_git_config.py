"""What git's configuration names is what git itself reads."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.fs.git_settings import parse_settings
from sandbox.fs.protected_paths import find_protected_name, find_protected_paths
from sandbox.guards.git_config import find_configured_paths

TEXTS = (
    "[core]\n\thooksPath = a\n",
    '[Include "x"] PATH = "a b" # c\n',
    '[includeIf "gitdir:~/x/"]\npath=a\\\nb;c\n',
    '[include]\n\tpath = "a#b" ; c\n\tpath = x\\"y\n[core]bare\nhookspath="z"w\n',
    '[a "b]c"]\nd = e\n[include]path=f\n',
    "[include]\r\n\tpath = a\r\n",
    "\ufeff[include]\npath = a  b  \n",
    "# [include]\n; path = x\n[x.y]\nz\n",
    '[Core.Sub]\nhooksPath = x\n[a "B.c"] d-e=f\\tg\n',
)


@pytest.mark.parametrize("text", TEXTS)
def test_entries_are_those_that_git_reads(tmp_path: Path, text: str) -> None:
    assert list(read(text)) == git(tmp_path, text)


def read(text: str) -> list[tuple[str, str]]:
    return [(each.name, each.value or "") for each in parse_settings(text)]


def git(folder: Path, text: str) -> list[tuple[str, str]]:
    (folder / "config").write_text(text, newline="")
    done = subprocess.run(
        ["git", "config", "--no-includes", "--null", "--list", "--file", str(folder / "config")],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [each.partition("\n") for each in done.stdout.split("\0") if each]
    return [(name.rpartition(".")[2], value) for name, _, value in lines]


@pytest.mark.slow
@given(st.text(alphabet='[]="#;\\ \t\nabc.-path', max_size=60))
def test_reading_ends_whatever_the_text(text: str) -> None:
    assert len(list(parse_settings(text))) <= len(text)


@pytest.mark.slow
def test_includes_are_followed_under_any_condition_and_end(workspace: Path, home: Path) -> None:
    (workspace / ".git" / "config").write_text(
        '[include]\npath = ../one\n[includeIf "onbranch:no"]\npath = ~/theirs\npath = ../missing/two\n'
    )
    (workspace / "one").write_text("[include]\npath = one\npath = src/three\n[core]\nhooksPath = src/hooks\n")
    (workspace / "src" / "hooks").mkdir()
    (workspace / "src" / "three").write_text("[include]\npath = ../.git/config\n")
    found = find_configured_paths(workspace, workspace / ".git")
    assert home / "theirs" in found.included
    places = find_protected_paths(workspace)
    assert {workspace / each for each in ("one", "src/three", "src/hooks")} <= set(places.there)
    assert workspace / "missing" / "two" in places.missing
    assert home / "theirs" not in (*places.there, *places.missing)
    names = ("one", "src/three", "missing/two", "src/hooks/pre-commit", "src/cart.py")
    assert [find_protected_name(workspace, name) for name in names] == [*names[:3], "src/hooks", ""]

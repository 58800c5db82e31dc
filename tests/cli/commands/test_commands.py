"""The table of commands: what is imported only when it is called is still all there."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.commands import group
from cli.commands.group import THEMES, load_commands
from tests.support.cli import run


def test_the_table_names_what_each_module_declares() -> None:
    assert {theme: set(load_commands(theme)) for theme in THEMES} == {
        theme: set(names) for theme, names in THEMES.items()
    }


def test_no_module_is_forgotten() -> None:
    folder = Path(group.__file__).parent
    modules = {path for path in folder.rglob("*.py") if "\ndef add(app: " in path.read_text("utf-8")}
    assert {".".join(path.relative_to(folder).with_suffix("").parts) for path in modules} == set(THEMES)


@pytest.mark.slow
def test_a_command_that_is_misspelt_gets_the_near_ones(tmp_path: Path) -> None:
    result = run("comit", cwd=tmp_path)
    assert result.code == 2
    assert "Did you mean 'commit'?" in result.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "listing"),
    [
        ("runs", "runs ps"),
        ("runs --all", "runs ps --all"),
        ("model", "model list"),
        ("functions", "functions list"),
        ("memory --json", "memory list --json"),
        ("hook", "hook status"),
        ("tune", "tune show"),
    ],
)
def test_a_group_without_a_command_lists(words: str, listing: str, tmp_path: Path) -> None:
    alone, named = run(*words.split(), cwd=tmp_path), run(*listing.split(), cwd=tmp_path)
    assert (alone.code, alone.out, alone.err) == (named.code, named.out, named.err)
    assert "Usage:" not in alone.out + alone.err
    assert alone.code != 2


@pytest.mark.slow
def test_a_group_that_lists_still_helps_and_refuses(tmp_path: Path) -> None:
    assert "attach" in run("runs", "--help", cwd=tmp_path).out
    refused = run("runs", "nope", cwd=tmp_path)
    assert (refused.code, "no such command 'nope'" in refused.err) == (2, True)

"""`search`: real ripgrep on real files."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from sandbox.errors import UserError
from sandbox.helpers import own_programs
from sandbox.policy.rules import Rules, parse_rule
from tests.support.repo import Repo
from tests.tools.workspaces import call, refused, workspace
from tools.core.action import Observation
from tools.fs.file_tools import list_files
from tools.fs.ripgrep import find_ripgrep
from tools.fs.search import search

pytestmark = pytest.mark.slow


SHOP = {
    "src/cart.py": "class Cart:\n    def total(self):\n        return 1\n",
    "src/order.py": "def total(order):\n    return 2\n",
    "README.md": "Total of a cart\n",
    "src/total.txt": "nothing\n",
}


def test_matching_lines_stand_under_their_file(tmp_path: Path) -> None:
    observation = call(search, workspace(tmp_path, SHOP), pattern=r"def \w+")
    assert observation.text == (
        "2 lines in 2 files match 'def \\\\w+'\n"
        "src/cart.py\n  2:     def total(self):\nsrc/order.py\n  1: def total(order):"
    )
    assert observation.data == {
        "lines": 2,
        "files": 2,
        "places": [["src/cart.py", 2], ["src/order.py", 1]],
        "names": [],
    }


def test_files_whose_name_matches_are_named(tmp_path: Path) -> None:
    text = call(search, workspace(tmp_path, SHOP), pattern="total").text
    assert text.endswith("files whose name matches:\n  src/total.txt")
    by_path = call(search, workspace(tmp_path, SHOP), pattern="src/ca").text
    assert by_path == "no line matches 'src/ca'\nfiles whose name matches:\n  src/cart.py"


def test_path_and_glob_narrow_the_search(tmp_path: Path) -> None:
    at = workspace(tmp_path, SHOP)
    assert (
        "1 line in 1 file in src/cart.py match" in call(search, at, pattern="total", path="src/cart.py").text
    )
    assert call(search, at, pattern="otal", glob="*.md").text.startswith(
        "1 line in 1 file match 'otal'\nREADME.md"
    )


def test_a_pattern_that_does_not_parse_is_taken_literally(tmp_path: Path) -> None:
    text = call(search, workspace(tmp_path, SHOP), pattern="total(").text
    assert text.startswith("2 lines in 2 files match 'total(' (taken literally")


def test_another_letter_case_is_tried_when_nothing_matches(tmp_path: Path) -> None:
    text = call(search, workspace(tmp_path, SHOP), pattern="CART").text
    assert text.startswith("2 lines in 2 files match 'CART' (in other letter case)")


def test_nothing_found_is_said(tmp_path: Path) -> None:
    at = workspace(tmp_path, SHOP)
    assert call(search, at, pattern="zebra").text == "no line matches 'zebra'"
    assert "glob='*.rs'" in call(search, at, pattern="*.rs").text


def test_output_is_capped_with_counts_of_what_was_left_out(tmp_path: Path) -> None:
    at = workspace(tmp_path, {f"f{n}.txt": "hit\n" * 100 for n in range(8)})
    text = call(search, at, pattern="hit").text
    assert text.startswith("800 lines in 8 files match 'hit'\nf0.txt\n  1: hit\n")
    assert text.count(": hit") == 200
    assert "  … 60 more in this file" in text
    assert text.endswith("… 300 more lines in 3 other files: narrow path or glob")


def test_counting_stops_where_it_is_of_no_use(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.txt": "x\n" * 30_000})
    assert call(search, at, pattern="x").text.startswith(
        "20,000 lines in 1 file match 'x', stopped after 20,000"
    )


def test_long_and_huge_lines_are_clipped(tmp_path: Path) -> None:
    at = workspace(
        tmp_path, {"a.js": "needle" + "x" * 1_000 + "\n", "b.js": "needle" + "y" * (3 << 20) + "\n"}
    )
    text = call(search, at, pattern="needle").text
    assert "[… 766 more characters]" in text
    assert "[a line of over 1 MB]" in text
    assert len(text) < 1_000


def test_ignored_files_git_and_links_outside_are_not_searched(tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("secret\n")
    at = workspace(
        tmp_path, {".gitignore": "*.log\n", "a.log": "secret\n", ".git/x": "secret\n", ".env.sample": "a\n"}
    )
    (at.root / "link.txt").symlink_to(tmp_path / "outside.txt")
    assert call(search, at, pattern="secret").text == "no line matches 'secret'"
    assert "outside the workspace" in refused(search, at, pattern="secret", path="link.txt")
    assert ".env.sample" in call(search, at, pattern="^a$").text


@pytest.mark.parametrize("folder", ["", "logs/", "logs/old/"])
def test_tracked_files_are_found_whenever_a_rule_of_any_folder_begins_to_ignore_them(
    tmp_path: Path, folder: str
) -> None:
    repo = Repo(tmp_path / "work")
    repo.write("logs/old/kept.log", "needle\n")
    repo.write("src/a.py", "needle\n")
    repo.commit_all("Begin")
    at = workspace(tmp_path)
    both = "2 lines in 2 files"
    assert both in call(search, at, pattern="needle").text
    for rules in ("*.txt\n", "*.log\n", "*.log\n!src\n", "old\n*.log\n"):
        repo.write(f"{folder}.gitignore", rules)
        assert both in call(search, at, pattern="needle").text, rules
        assert "logs/old/kept.log" in call(list_files, at).value
    (repo.root / f"{folder}.gitignore").unlink()
    assert both in call(search, at, pattern="needle").text


def test_rules_around_a_workspace_that_is_a_part_of_its_repository_count_when_they_change(
    tmp_path: Path,
) -> None:
    repo = Repo(tmp_path / "shop")
    (repo.root / "part").mkdir()
    at = workspace(repo.root / "part", {"a/kept.log": "needle\n"})
    repo.commit_all("Begin")
    assert "1 line in 1 file" in call(search, at, pattern="needle").text
    repo.write(".gitignore", "*.log\n")
    assert "1 line in 1 file" in call(search, at, pattern="needle").text


def test_a_pattern_or_path_is_never_an_option(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"-f.txt": "--version\n"})
    assert "  1: --version" in call(search, at, pattern="--version").text
    assert "  1: --version" in call(search, at, pattern="--ver", path="-f.txt").text


def test_the_users_ripgrep_configuration_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "ripgreprc"
    config.write_text("--pre=/bin/false\n--invert-match\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(config))
    at = workspace(tmp_path, {"a.txt": "one\ntwo\n"})
    assert call(search, at, pattern="one").text == "1 line in 1 file match 'one'\na.txt\n  1: one"


def test_lines_are_shown_in_the_encoding_of_their_file(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.txt": b"gr\xf6\xdfe = 1\n", "b.txt": "größe café = 1 ".encode() + b"\xff\n"})
    found = call(search, at, pattern="= 1").text
    assert "  1: größe = 1" in found
    assert "  1: größe café = 1 \ufffd" in found


def test_each_line_of_a_file_in_another_encoding_is_found_once_in_order(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.txt": "größe\nsize\ngröße size\n".encode("latin-1"), "b.txt": "größe\n"})
    observation = call(search, at, pattern="größe|size")
    assert [(each.path, each.line) for each in observation.value] == [
        ("a.txt", 1), ("a.txt", 2), ("a.txt", 3), ("b.txt", 1)
    ]  # fmt: skip


def test_the_encoding_of_a_file_is_found_once_for_all_its_lines(tmp_path: Path) -> None:
    line = "Straße, Haus und Garten: größer\n".encode("latin-1")
    at = workspace(tmp_path, {"a.txt": line * 20_000})
    started = time.monotonic()
    assert "Straße, Haus" in call(search, at, pattern="Haus").text
    assert time.monotonic() - started < 10


def test_missing_places_and_empty_patterns_are_refused(tmp_path: Path) -> None:
    at = workspace(tmp_path, SHOP)
    assert "no such file or folder: 'lib'" in refused(search, at, pattern="x", path="lib")
    assert "pattern is empty" in refused(search, at, pattern="")


@pytest.mark.parametrize("pattern", ["Cart:\n    def", r"Cart:\n\s+def"])
def test_a_pattern_may_go_over_line_ends(tmp_path: Path, pattern: str) -> None:
    observation = call(search, workspace(tmp_path, SHOP), pattern=pattern)
    assert observation.text.splitlines()[-2:] == ["src/cart.py", "  1: class Cart:"]


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_what_no_command_line_can_hold_is_refused(tmp_path: Path, text: str) -> None:
    at = workspace(tmp_path, SHOP)
    assert "holds a character that no text file has" in refused(search, at, pattern=text)
    assert "the glob" in refused(search, at, pattern="a", glob=text)


def test_ripgrep_is_found_on_the_path_or_beside_our_python(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert os.access(find_ripgrep(), os.X_OK)
    own_programs._search_folders.cache_clear()
    program = tmp_path / "rg"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert find_ripgrep() == str(program)
    own_programs._search_folders.cache_clear()
    program.unlink()
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(UserError, match="ripgrep"):
        find_ripgrep()
    own_programs._search_folders.cache_clear()


def unreadable(pattern: str) -> Rules:
    return Rules((parse_rule(f"read({pattern})", "deny"),))


def test_what_may_not_be_read_is_not_found(tmp_path: Path) -> None:
    files = {".env": "token\n", "app/.env": "token\n", "a.py": "token\n"}
    everywhere = call(search, workspace(tmp_path, files, rules=unreadable(".env")), pattern="token").text
    assert "a.py" in everywhere
    assert ".env" not in everywhere
    top = call(search, workspace(tmp_path, files, rules=unreadable("./.env")), pattern="token").text
    assert "app/.env" in top


def test_tracked_files_that_the_rules_ignore_are_found_and_listed(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.write(".gitignore", "build/\n*.gen.py\n")
    repo.write("build/kept.py", "needle\n")
    repo.write("build/made.py", "needle\n")
    repo.write("src/a.gen.py", "needle\n")
    repo.write("src/b.py", "needle\n")
    repo.git("add", "-f", "build/kept.py", "src/a.gen.py", "src/b.py")
    at = repo.workspace()
    assert _list_paths(call(search, at, pattern="needle")) == ["build/kept.py", "src/a.gen.py", "src/b.py"]
    assert _list_paths(call(search, at, pattern="needle", path="src", glob="*.gen.py")) == ["src/a.gen.py"]
    assert call(search, at, pattern="needle", path="build").text.count("kept.py") == 1
    assert "kept.py" in call(list_files, at).text
    assert "made.py" not in call(list_files, at).text


def _list_paths(found: Observation) -> list[str]:
    return sorted({match.path for match in found.value})

"""Of the user's git settings, commands get the ones that are mere words."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sandbox.view.user_git_settings import PASSED_ON, read_git_settings

SETTINGS = r"""
; mine
[user]
	name = "A \"B\" C" # me
	email = a@example.org
	signingKey = SECRET
[Core] autocrlf = input
	sshCommand = SECRET
	eol = "x \\ y\t# \"z\" "
	pager
[safe]
	directory = /a
	directory = "/b c"
[http "https://example.org"]
	extraHeader = SECRET
[init]
	default\
Branch = main
[url "https://SECRET@example.org/"]
	insteadOf = x:
[include]
	path = SECRET
"""


def read_by_git(path: Path) -> dict[str, list[str]]:
    done = subprocess.run(
        ["git", "config", "--file", str(path), "--no-includes", "--null", "--list"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, list[str]] = {}
    for entry in done.stdout.split("\0")[:-1]:
        key, _, value = entry.partition("\n")
        found.setdefault(key, []).append(value)
    return found


def test_git_reads_the_same_words_in_the_copy(home: Path, tmp_path: Path) -> None:
    (home / ".gitconfig").write_text(SETTINGS.replace("default\\\nBranch", "defaultBranch"))
    copy = tmp_path / "copy"
    copy.write_text(read_git_settings())
    original = read_by_git(home / ".gitconfig")
    assert read_by_git(copy) == {key: value for key, value in original.items() if key in PASSED_ON}
    assert read_by_git(copy)["user.name"] == ['A "B" C']
    assert "SECRET" not in copy.read_text()


def test_a_change_is_seen_and_both_files_are_read(home: Path) -> None:
    assert read_git_settings() == ""
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/config").write_text("[user]\n\tname = First\n")
    assert "First" in read_git_settings()
    (home / ".gitconfig").write_text("[user]\n\tname = Second\n")
    settings = read_git_settings()
    assert settings.index("First") < settings.index("Second")


@pytest.mark.parametrize("content", [b"\xff\xfe[user", b"[user\nname = x", b"[user]\nname", b"\0" * 100])
def test_a_damaged_file_is_no_error(home: Path, content: bytes) -> None:
    (home / ".gitconfig").write_bytes(content)
    assert "x" not in read_git_settings()

"""Git's configuration files are read as git reads them; what they name is found through includes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sandbox.fs.git_settings import list_named_files, read_git_settings, read_plain_file

TEXT = r"""
[core]
	excludesFile = "/a b/ignore" ; a remark
	editor = vim -c \"set tw=72\" # another
	bare
[Remote "Or\"igin"] url = x\\y
[alias]
	long = one \
two
	hash = "a # b"
[include] path = more
"""


def test_settings_are_read_as_git_reads_them(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(TEXT)
    listed = subprocess.run(
        ["git", "config", "--file", str(config), "--list", "-z"], capture_output=True, text=True, check=True
    )
    theirs = [line.partition("\n") for line in listed.stdout.split("\0")[:-1]]
    assert read_git_settings(config) == [(key, value if mark else "true") for key, mark, value in theirs]


def test_what_is_named_is_found_through_includes_and_again_after_a_change(tmp_path: Path) -> None:
    ignore, config, more = tmp_path / "ignore", tmp_path / "config", tmp_path / "more"
    ignore.write_text("*.log\n")
    config.write_text('[include]\n\tpath = more\n[includeIf "gitdir:~/code/"]\n\tpath = missing\n')
    more.write_text(f"[core]\n\texcludesFile = {ignore}\n[include]\n\tpath = config\n")
    assert set(list_named_files(str(config))) == {str(more), str(ignore), str(config)}
    more.write_text("[core]\n\texcludesFile = /nowhere\n")
    assert list_named_files(str(config)) == [str(more)]


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "huge", "missing"])
def test_what_is_no_plain_file_has_no_text(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "config"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "device":
            path.symlink_to("/dev/zero")
        case "huge":
            path.write_bytes(b"x")
            os.truncate(path, 1 << 30)
    assert read_plain_file(path) == ""
    assert read_git_settings(path) == []

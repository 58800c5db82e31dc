"""`patchwright apply`: real processes, real diffs of git, all of the edits or none."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.cli import PATCHWRIGHT, Result, environment, run
from tests.support.repo import Repo

pytestmark = pytest.mark.slow

BLOCK = """\
src/cart.py
<<<<<<< SEARCH
def total(items):
  return sum(items)
=======
def total(items):
  return round(sum(items), 2)
>>>>>>> REPLACE
"""
CART = "import os\n\n\ndef total(items):\n    return sum(items)\n"
FIXED = CART.replace("sum(items)", "round(sum(items), 2)")


def project(folder: Path) -> Path:
    """A folder, no repository, with one file in it."""
    (folder / "project/src").mkdir(parents=True)
    (folder / "project/src/cart.py").write_text(CART)
    return folder / "project"


def apply(folder: Path, edits: str, *options: str) -> Result:
    return run("apply", "-", *options, cwd=folder, stdin=edits)


def test_edits_are_made_and_each_says_how_it_was_found(tmp_path: Path) -> None:
    folder = project(tmp_path)
    result = apply(folder, BLOCK)
    assert (result.code, result.err) == (0, "")
    assert result.out == (
        "src/cart.py: changed (+1 −1)\n  edit 1: indentation, line 5\n1 file changed (+1 −1)\n"
    )
    assert (folder / "src/cart.py").read_text() == FIXED


def test_check_says_the_same_and_writes_nothing_at_all(tmp_path: Path, isolated: Path) -> None:
    folder, before = project(tmp_path), set(isolated.rglob("*"))
    result = apply(folder, BLOCK, "--check")
    assert result.out.endswith("1 file would change (+1 −1)\n")
    assert (folder / "src/cart.py").read_text() == CART
    assert set(isolated.rglob("*")) == before
    assert apply(folder, "--- /dev/null\n+++ b/.git/x\n@@ -0,0 +1 @@\n+x\n", "--check").code == 13


def test_exact_takes_only_what_fits_to_the_letter(tmp_path: Path) -> None:
    folder = project(tmp_path)
    result = apply(folder, BLOCK, "--exact")
    assert (result.code, result.out) == (13, "")
    assert result.err.startswith("src/cart.py: ")
    assert result.err.endswith("patchwright: nothing was written\n")
    assert (folder / "src/cart.py").read_text() == CART


def test_json_is_one_object_whatever_happens(tmp_path: Path) -> None:
    folder = project(tmp_path)
    outcomes = {}
    for name, edits, options in (
        ("checked", BLOCK, ("--check",)),
        ("done", BLOCK, ()),
        ("again", BLOCK, ()),
        ("wrong", BLOCK.replace("items", "goods"), ()),
        ("malformed", "hello\n", ()),
        ("folder", BLOCK, ("-C", "nowhere")),
    ):
        result = apply(folder, edits, "--json", *options)
        told = json.loads(result.out)
        outcomes[name] = (result.code, told["exit"], told["applied"])
    assert outcomes == {
        "checked": (0, "done", False),
        "done": (0, "done", True),
        "again": (3, "nothing-to-do", False),
        "wrong": (13, "not-achieved", False),
        "malformed": (2, "usage", False),
        "folder": (2, "usage", False),
    }


def test_json_tells_every_file_and_every_edit(tmp_path: Path) -> None:
    told = json.loads(apply(project(tmp_path), BLOCK, "--json").out)
    edit = {"edit": 1, "rung": "indentation", "first": 5, "last": 5, "note": ""}
    assert told["files"] == [
        {"path": "src/cart.py", "verb": "changed", "added": 1, "removed": 1, "edits": [edit], "notes": []}
    ]


def test_what_is_so_already_is_nothing_to_do(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / "src/cart.py").write_text(FIXED)
    result = apply(folder, BLOCK)
    assert result.code == 3
    assert "already" in result.err.splitlines()[0]
    assert result.err.endswith("patchwright: nothing to do\n")


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (1, 2), (0, 2)], ids=str)
def test_a_series_is_applied_in_its_order_or_not_at_all(tmp_path: Path, order: tuple[int, int]) -> None:
    repo = Repo(tmp_path / "r")
    states = [f"def f():\n    return {number}\n" for number in range(4)]
    diffs = []
    for text in states:
        repo.write("a.py", text)
        repo.commit_all(text)
        diffs.append(repo.git("show", "--format=", "HEAD"))
    repo.git("reset", "-q", "--hard", "HEAD~3")
    series = [diffs[1:][number] for number in order]
    result = apply(repo.root, "".join(series))
    if order == (0, 1):
        assert (result.code, repo.read("a.py")) == (0, states[2])
    else:
        assert result.code == 13, result.out
        assert repo.read("a.py") == states[0]


@pytest.mark.parametrize(
    "lines",
    [["one\r\n", "two\r\n"], ["one\n", "two\r\n"], ["\ufeffone\n"], ["one\r\n", "two"]],
    ids=["CRLF", "both", "BOM", "no end"],
)
def test_a_new_file_is_so_already_whatever_its_bytes(tmp_path: Path, lines: list[str]) -> None:
    folder = project(tmp_path)
    body = "".join(f"+{line}" for line in lines)
    end = "" if body.endswith("\n") else "\n\\ No newline at end of file\n"
    edits = f"--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,{len(lines)} @@\n{body}{end}"
    (folder / "new.diff").write_bytes(edits.encode())
    assert run("apply", "new.diff", cwd=folder).code == 0
    assert (folder / "new.txt").read_bytes() == "".join(lines).encode()
    assert run("apply", "new.diff", cwd=folder).code == 3


def test_nothing_is_written_when_one_of_two_does_not_fit(tmp_path: Path) -> None:
    folder = project(tmp_path)
    result = apply(folder, BLOCK + BLOCK.replace("src/cart.py", "src/order.py"))
    assert result.code == 13
    assert "src/order.py: no such file" in result.err
    assert (folder / "src/cart.py").read_text() == CART


def test_the_file_is_found_from_here_and_its_paths_from_the_folder(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (tmp_path / "edits.txt").write_text(BLOCK)
    assert run("apply", "edits.txt", "-C", folder, cwd=tmp_path).code == 0
    assert (folder / "src/cart.py").read_text() == FIXED
    missing = run("apply", "edits.txt", cwd=folder)
    assert (missing.code, missing.out) == (2, "")
    assert "cannot read 'edits.txt': No such file or directory" in missing.err


@pytest.mark.parametrize(
    ("edits", "options", "message"),
    [
        ("nothing here\n", (), "standard input cannot be read as edits: no edit found"),
        (BLOCK, ("--format", "diff"), "a unified diff was asked for"),
        (BLOCK, ("-C", "nowhere"), "no such folder: 'nowhere'"),
        (BLOCK, ("--bogus",), "no such option"),
    ],
)
def test_bad_usage_is_one_clear_message(
    tmp_path: Path, edits: str, options: tuple[str, ...], message: str
) -> None:
    result = apply(project(tmp_path), edits, *options)
    assert (result.code, result.out) == (2, "")
    assert message in result.err


ENCODED = {
    "latin1.txt": ("Señor José\nx\n".encode("latin-1"), "Señor José\nétà\n".encode("latin-1")),
    "declared.py": (
        "# coding: cp1251\n# Привет\nx = 1\n".encode("cp1251"),
        "# coding: cp1251\n# Привет\nx = 'мир'\n".encode("cp1251"),
    ),
    "japanese.txt": ("日本語ソ\r\nx\r\n".encode("cp932"), "日本語ソ\r\n表\r\n".encode("cp932")),
    "utf8.txt": ("größer €\n".encode(), "größer €\nü\n".encode()),
    "new.txt": (b"", "é neu\r\nü\r\n".encode("latin-1")),
    "gone.txt": ("Straße\n".encode("latin-1"), b""),
}


def _read_encoded(repo: Repo) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in repo.root.iterdir() if path.is_file()}


def _write_encoded(repo: Repo, side: int) -> None:
    for name, sides in ENCODED.items():
        if sides[side]:
            (repo.root / name).write_bytes(sides[side])
        else:
            (repo.root / name).unlink(missing_ok=True)


@pytest.mark.parametrize("options", [(), ("-R",)], ids=["forward", "reversed"])
def test_a_diff_of_files_in_other_encodings_is_applied_by_their_bytes(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    repo = Repo(tmp_path / "repo")
    _write_encoded(repo, 0)
    repo.commit_all("before")
    before = _read_encoded(repo)
    _write_encoded(repo, 1)
    repo.git("add", "-A")
    after = _read_encoded(repo)
    diff = tmp_path / "diff"
    command = ["git", "diff", "--cached", *options]
    diff.write_bytes(subprocess.run(command, cwd=repo.root, capture_output=True, check=True).stdout)
    if not options:
        repo.git("reset", "-q", "--hard")
    result = run("apply", diff, cwd=repo.root)
    assert result.code == 0, result.err
    assert _read_encoded(repo) == (before if options else after)


def test_a_diff_in_another_encoding_that_does_not_match_writes_nothing(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / "x").write_bytes("Señor\n".encode("latin-1"))
    (folder / "edits").write_bytes(b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-Se\xf1ora\n+a\n")
    result = run("apply", "edits", cwd=folder)
    assert result.code == 13
    assert "nothing was written" in result.err
    assert (folder / "x").read_bytes() == "Señor\n".encode("latin-1")


def test_a_diff_of_git_gives_the_tree_that_it_was_taken_from(tmp_path: Path) -> None:
    repo = _every_kind_of_change(tmp_path / "repo")
    diff = repo.git("diff", "--cached", "-M", "HEAD")
    wanted = _tree(repo.root)
    for options in ((), ("--exact",)):
        copy = tmp_path / f"copy{len(options)}"
        repo.git("worktree", "add", "-q", "--detach", str(copy), "HEAD")
        result = apply(copy, diff, *options)
        assert result.code == 0, result.err
        assert _tree(copy) == wanted


def _every_kind_of_change(root: Path) -> Repo:
    repo = Repo(root)
    repo.write("keep.txt", "a\nb\nc\nd\ne\n")
    repo.write("old name.txt", "one\ntwo\nthree\nfour\nfive\nsix\n")
    repo.write("dos.txt", "x\r\ny\r\nz\r\n")
    repo.write("mixed.txt", "x\r\ny\nz\r\n")
    repo.write("no_end.txt", "a\nno end")
    repo.write("run.sh", "#!/bin/sh\n")
    repo.write("gone.txt", "gone\nby\n")
    repo.write('quo"te.txt', "q\n")
    repo.write("back\\slash.txt", "b\n")
    repo.write("größe.txt", "g\n")
    repo.write("logo.png", b"\x89PNG\0\0")
    repo.write("empty.txt", "")
    (root / "link").symlink_to("keep.txt")
    repo.commit_all()
    repo.write("keep.txt", "a\nB\nc\nd\ne\nf\n")
    repo.write("dos.txt", "x\r\nY\r\nz\r\n")
    repo.write("mixed.txt", "x\r\nY\nz\r\n")
    repo.write("no_end.txt", "a\nend\n")
    (root / "run.sh").chmod(0o755)
    repo.write('quo"te.txt', "Q\n")
    repo.write("back\\slash.txt", "B\n")
    repo.write("größe.txt", "G\n")
    repo.write("new/fresh.sh", "fresh").chmod(0o755)
    for name in ("gone.txt", "link"):
        (root / name).unlink()
    for old, new in (("old name.txt", "renamed.txt"), ("logo.png", "logo2.png"), ("empty.txt", "e.txt")):
        (root / old).rename(root / "new" / new)
    repo.write("new/renamed.txt", "one\nzwei\nthree\nfour\nfive\nsix\n")
    repo.git("add", "-A")
    return repo


def _tree(root: Path) -> dict[str, tuple[bytes, int]]:
    paths = [path for path in root.rglob("*") if path.is_file() or path.is_symlink()]
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.lstat().st_mode & 0o111)
        for path in paths
        if path.relative_to(root).parts[0] != ".git"
    }


def test_paths_cannot_steer_the_terminal(tmp_path: Path) -> None:
    folder = project(tmp_path)
    result = apply(folder, BLOCK.replace("src/cart.py", "src/\x1b[2Jcart.py"))
    assert result.code != 0
    assert "\x1b" not in result.out + result.err


def test_a_reader_that_leaves_does_not_stop_the_edits(tmp_path: Path) -> None:
    folder = project(tmp_path)
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*PATCHWRIGHT, "apply", "-"], cwd=folder, env=environment(), input=BLOCK.encode(),
        stdout=write, stderr=subprocess.PIPE, timeout=60, check=False,
    )  # fmt: skip
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (folder / "src/cart.py").read_text() == FIXED


def test_two_at_once_take_their_turns(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / "list.txt").write_text("start\n")
    edits = [f"--- a/list.txt\n+++ b/list.txt\n@@ -1 +1,2 @@\n start\n+line {n}\n" for n in range(4)]
    running = [
        subprocess.Popen(
            [*PATCHWRIGHT, "apply", "-"], cwd=folder, env=environment(),
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )
        for _ in edits
    ]  # fmt: skip
    for process, text in zip(running, edits, strict=True):
        assert process.stdin is not None
        process.stdin.write(text.encode())
        process.stdin.close()
    for process in running:
        assert process.stderr is not None
        with process.stderr:
            assert (process.stderr.read(), process.wait(60)) == (b"", 0)
    lines = (folder / "list.txt").read_text().splitlines()
    assert lines[0] == "start"
    assert sorted(lines[1:]) == [f"line {n}" for n in range(4)]


def test_an_interrupt_while_it_waits_for_edits_writes_nothing(tmp_path: Path) -> None:
    folder = project(tmp_path)
    process = subprocess.Popen(
        [*PATCHWRIGHT, "apply", "-"], cwd=folder, env=environment(),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    with process:
        assert process.stdin is not None
        process.stdin.write(
            BLOCK.encode() * 5_000
        )  # more than a pipe holds: once it is written, it is being read
        process.stdin.flush()
        while process.poll() is None:  # one that comes between two reads is only seen at the next one
            process.send_signal(signal.SIGINT)
            with suppress(
                subprocess.TimeoutExpired
            ):  # long enough to end in: a second one would cut that short
                process.wait(5)
        assert process.returncode == 130
    assert (folder / "src/cart.py").read_text() == CART


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_folder_that_cannot_be_written_has_an_exit_code_of_its_own(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / "src").chmod(0o555)
    try:
        result = apply(folder, BLOCK)
        checked = apply(folder, BLOCK.replace("sum", "max", 1), "--check")
    finally:
        (folder / "src").chmod(0o755)
    assert (result.code, checked.code) == (12, 13)
    assert "no permission" in result.err

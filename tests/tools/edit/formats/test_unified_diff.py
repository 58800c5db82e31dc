"""Unified diffs: of git, plain, and as models write them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tools.edit.edit_model import Create, Delete, Hunk, Line, Op, Update
from tools.edit.formats import parse_edits


def hunk(*lines: str, start: int | None = None, counted: bool = False, heads: tuple[str, ...] = ()) -> Hunk:
    ops: dict[str, Op] = {" ": " ", "-": "-", "+": "+"}
    return Hunk(
        lines=tuple(Line(ops[line[0]], line[1:]) for line in lines), start=start, counted=counted, heads=heads
    )


HUNK = "@@ -4,2 +4,2 @@ def f():\n x\n-old\n+new\n"
CHANGE = hunk(" x", "-old", "+new", start=4, counted=True)
SIMPLE = [Update(path="a.py", edits=(CHANGE,))]


@pytest.mark.parametrize(
    "text",
    [
        f"diff --git a/a.py b/a.py\nindex 12ab..34cd 100644\n--- a/a.py\n+++ b/a.py\n{HUNK}",
        f"--- a/a.py\n+++ b/a.py\n{HUNK}",
        f"--- a.py\n+++ a.py\n{HUNK}",
        f"--- a.py\t2024-01-01 10:00:00.000000000 +0100\n+++ a.py\t2024-01-02 10:00:00\n{HUNK}",
        f"--- a.py 2024-01-01 10:00:00\n+++ a.py 2024-01-02 10:00:00\n{HUNK}",
        f"--- a.py.orig\n+++ a.py\n{HUNK}",
        f"--- old/a.py\n+++ new/a.py\n{HUNK}",
        f"--- i/a.py\n+++ w/a.py\n{HUNK}",
        f"--- a.py\n+++ b/a.py\n{HUNK}",
        f"+++ a.py\n{HUNK}",
        f"+++ b/a.py\n{HUNK}",
        f"--- a/a.py\n{HUNK}",
        f"`a.py`:\n```diff\n{HUNK}```\n",
        f"```diff a.py\n{HUNK}```\n",
        f"```diff\n--- a/a.py\n+++ b/a.py\n{HUNK}```\nThis changes `f`.\n",
        f"I change f:\n\n--- a/a.py\n+++ b/a.py\n{HUNK}\nThis is it.\n- one\n- two\n",
        f"Index: a.py\n==================\n--- a.py\t(revision 1)\n+++ a.py\t(working copy)\n{HUNK}",
        f"From 1a2b Mon Sep 17 00:00:00 2001\nSubject: [PATCH] x\n\n---\n a.py | 2 +-\n\ndiff --git a/a.py b/a.py\n"
        f"--- a/a.py\n+++ b/a.py\n{HUNK}-- \n2.43.0\n\n",
        f"--- a/a.py\n+++ b/a.py\n{HUNK}".replace("\n", "\r\n"),
        f"--- a/a.py\n+++ b/a.py\n{HUNK}".removesuffix("\n"),
        f"diff --git a.py a.py\n--- a.py\n+++ a.py\n{HUNK}",
    ],
)
def test_headers_may_vary(text: str) -> None:
    assert parse_edits(text) == SIMPLE


def test_a_folder_that_is_called_like_a_prefix_stays() -> None:
    assert parse_edits(f"diff --git a/a/x b/a/x\n--- a/a/x\n+++ b/a/x\n{HUNK}") == [
        Update(path="a/x", edits=(CHANGE,))
    ]
    assert parse_edits(f"--- a/x\n+++ a/x\n{HUNK}") == [Update(path="a/x", edits=(CHANGE,))]


@pytest.mark.parametrize(
    ("written", "path"),
    [('"a/caf\\303\\251.txt" "b/caf\\303\\251.txt"', "café.txt"), ('"a/q\\"\\\\t\\t" "b/q\\"\\\\t\\t"', 'q"\\t\t'),
     ("a/two words b/two words", "two words"), ("a/x b/x b/x b/x", "x b/x")],
)  # fmt: skip
def test_names_may_be_quoted_or_have_spaces(written: str, path: str) -> None:
    text = f"diff --git {written}\nold mode 100644\nnew mode 100755\n"
    assert parse_edits(text) == [Update(path=path, edits=(), mode=0o755)]


@pytest.mark.parametrize(
    "text",
    [
        "diff --git a/n.py b/n.py\nnew file mode 100644\n--- /dev/null\n+++ b/n.py\n@@ -0,0 +1,3 @@\n+a\n+\n+b\n",
        "--- /dev/null\n+++ b/n.py\n@@ -0,0 +1,3 @@\n+a\n+\n+b\n",
        "--- /dev/null\n+++ n.py\n@@ -0,0 +1,9 @@\n+a\n\n+b\n",
        "--- /dev/null\n+++ b/n.py\n@@ -0,0 +1 @@\n+a\n+\n+b\n",
        "--- /dev/null\n+++ b/n.py\n@@\n+a\n+\n+b\n",
        "--- /dev/null\n+++ b/n.py\n+a\n+\n+b\n",
    ],
)
def test_a_file_is_created(text: str) -> None:
    assert parse_edits(text) == [Create(path="n.py", content="a\n\nb\n")]


def test_modes_moves_and_removals_of_git() -> None:
    text = (
        "diff --git a/run.sh b/run.sh\nnew file mode 100755\n--- /dev/null\n+++ b/run.sh\n@@ -0,0 +1 @@\n+x\n"
        "\\ No newline at end of file\n"
        "diff --git a/empty b/empty\nnew file mode 100644\nindex 0..0\n"
        "diff --git a/gone.py b/gone.py\ndeleted file mode 100644\n--- a/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
        "diff --git a/old b/new\nsimilarity index 90%\nrename from old\nrename to new\n--- a/old\n+++ b/new\n"
        + HUNK
        + "diff --git a/one b/two\nsimilarity index 100%\nrename from one\nrename to two\n"
    )
    assert parse_edits(text) == [
        Create(path="run.sh", content="x", mode=0o755),
        Create(path="empty", content=""),
        Delete(path="gone.py", hunks=(hunk("-x", start=1, counted=True),)),
        Update(path="old", edits=(CHANGE,), to="new"),
        Update(path="one", edits=(), to="two"),
    ]


@pytest.mark.parametrize("counts", ["-4,9 +4,9", "-4,1 +4,1", "-4 +4", "-4,7 +4,2"])
def test_wrong_counts_do_not_change_what_a_hunk_holds(counts: str) -> None:
    first = f"--- a/a.py\n+++ b/a.py\n@@ {counts} @@\n x\n-old\n+new\n@@ {counts} @@\n-y\n"
    text = first + "--- a/b.py\n+++ b/b.py\n@@ -1 +0,0 @@\n-z\n"
    assert parse_edits(text) == [
        Update(path="a.py", edits=(hunk(" x", "-old", "+new", start=4), hunk("-y", start=4))),
        Update(path="b.py", edits=(hunk("-z", start=1, counted=True),)),
    ]


@pytest.mark.parametrize(
    ("head", "heads"),
    [("@@ ... @@", ()), ("@@", ()), ("@@ @@", ()), ("@@ def foo():", ("def foo():",)), ("@@ class A @@", ("class A",)),
     ("@@ class A\n@@   def f", ("class A", "  def f")), ("@@ ... @@ def foo():", ("def foo():",)),
     ("@@ lines 10-20 @@", ())],
)  # fmt: skip
def test_heads_without_numbers(head: str, heads: tuple[str, ...]) -> None:
    assert parse_edits(f"--- a.py\n+++ a.py\n{head}\n-x\n+y\n") == [
        Update(path="a.py", edits=(hunk("-x", "+y", heads=heads),))
    ]


def test_the_section_counts_only_where_the_numbers_are_wrong() -> None:
    text = "--- a.py\n+++ a.py\n@@ -1,5 +1,5 @@ def g():\n-x\n"
    assert parse_edits(text) == [Update(path="a.py", edits=(hunk("-x", start=1, heads=("def g():",)),))]


def test_an_insertion_without_context_stands_before_the_line_after() -> None:
    text = "--- a.py\n+++ a.py\n@@ -5,0 +6,1 @@\n+x\n"
    assert parse_edits(text) == [Update(path="a.py", edits=(hunk("+x", start=6, counted=True),))]


def test_right_counts_tell_lines_from_headers() -> None:
    text = "--- a.sql\n+++ a.sql\n@@ -1,3 +1,2 @@\n x\n--- drop\n--- table\n+++ i;\n@@ -9 +8 @@\n-y\n+z\n"
    (change,) = parse_edits(text)
    assert change == Update(
        path="a.sql",
        edits=(
            hunk(" x", "--- drop", "--- table", "+++ i;", start=1, counted=True),
            hunk("-y", "+z", start=9, counted=True),
        ),
    )


def test_counts_that_are_too_large_do_not_swallow_the_next_header() -> None:
    text = "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-x\n+y\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-v\n+w\n"
    assert parse_edits(text) == [
        Update(path="a", edits=(hunk("-x", "+y", start=1),)),
        Update(path="b", edits=(hunk("-v", "+w", start=1, counted=True),)),
    ]


def test_context_may_have_lost_its_space() -> None:
    text = "--- a.py\n+++ a.py\n@@ -1,5 +1,5 @@\ndef f():\n    a\n\n-    b\n+    c\n    d\n"
    assert parse_edits(text) == [
        Update(
            path="a.py",
            edits=(hunk(" def f():", "     a", " ", "-    b", "+    c", "     d", start=1, counted=True),),
        )
    ]


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["-x", "\\ No newline at end of file", "+y"], "-"),
        (["-x", "+y", "\\ No newline at end of file"], "+"),
        (["-x", "\\ No newline at end of file", "+y", "\\ No newline at end of file"], " "),
        (["-x", " y", "\\ Kein Zeilenumbruch am Dateiende."], " "),
    ],
)
def test_a_missing_final_newline(lines: list[str], says: str) -> None:
    (change,) = parse_edits("\n".join(["--- a", "+++ a", "@@ ... @@", *lines, ""]))
    assert isinstance(change, Update)
    (found,) = change.edits
    assert isinstance(found, Hunk)
    assert found.no_newline == says


def test_prose_between_hunks_is_left_out() -> None:
    text = f"--- a.py\n+++ a.py\n@@ ... @@\n-x\n\nAnd also:\n\n@@ ... @@\n-y\n\n`b.py` too:\n```diff\n{HUNK}```\n"
    assert parse_edits(text) == [
        Update(path="a.py", edits=(hunk("-x"), hunk("-y"))),
        Update(path="b.py", edits=(CHANGE,)),
    ]


def test_hunks_of_one_file_are_one_update() -> None:
    text = "--- a\n+++ a\n@@ ... @@\n-x\n--- b\n+++ b\n@@ ... @@\n-y\n--- a\n+++ a\n@@ ... @@\n-z\n"
    assert parse_edits(text) == [
        Update(path="a", edits=(hunk("-x"), hunk("-z"))),
        Update(path="b", edits=(hunk("-y"),)),
    ]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_what_git_writes_is_read(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout

    git("init", "-q")
    (tmp_path / "sub dir").mkdir()
    (tmp_path / "sub dir" / "é.txt").write_text("".join(f"-- {n}\n" for n in range(40)))
    (tmp_path / "gone").write_text("x\n")
    (tmp_path / "run").write_text("#!\n")
    git("add", "-A")
    git("commit", "-qm", "before")
    (tmp_path / "sub dir" / "é.txt").write_text(
        "".join(f"++ {n}\n" if n % 10 == 3 else f"-- {n}\n" for n in range(40))
    )
    (tmp_path / "gone").rename(tmp_path / "moved here")
    (tmp_path / "run").chmod(0o755)
    (tmp_path / "new").write_text("no newline")
    git("add", "-A")
    for options in (
        [],
        ["-U0"],
        ["--no-prefix"],
        ["--src-prefix=i/", "--dst-prefix=w/"],
        ["-c", "core.quotePath=false"],
    ):
        flags = options[:2] if options[:1] == ["-c"] else []
        found = parse_edits(git(*flags, "diff", "--cached", "-M", *([] if flags else options)))
        by_path = {change.path: change for change in found}
        assert by_path["new"] == Create(path="new", content="no newline")
        assert by_path["gone"] == Update(path="gone", edits=(), to="moved here")
        assert by_path["run"] == Update(path="run", edits=(), mode=0o755)
        changed = by_path["sub dir/é.txt"]
        assert isinstance(changed, Update)
        hunks = [edit for edit in changed.edits if isinstance(edit, Hunk)]
        assert all(each.counted for each in hunks)
        removed = [line.text for each in hunks for line in each.lines if line.op == "-"]
        assert removed == ["-- 3", "-- 13", "-- 23", "-- 33"]

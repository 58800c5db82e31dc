"""`read`, `list` and `write` on real files."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from tests.tools.workspaces import call, put, refused, workspace
from tools.edit.edit_tools import edit
from tools.fs.file_tools import list_files, read, write


def test_a_file_is_read_with_line_numbers(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"cart.py": "a = 1\n\nb = 2\n"})
    assert call(read, at, path="cart.py").text == "cart.py: 3 lines\n1\ta = 1\n2\t\n3\tb = 2"


def test_a_range_says_where_it_lies_and_how_to_go_on(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"long.txt": "".join(f"line {n}\n" for n in range(1, 2311))})
    assert call(read, at, path="long.txt", start=5, end=6).text == (
        "long.txt: lines 5–6 of 2,310\n5\tline 5\n6\tline 6\n[more: read(path='long.txt', start=7)]"
    )
    whole = call(read, at, path="long.txt").text
    assert whole.startswith("long.txt: lines 1–400 of 2,310\n")
    assert whole.endswith("400\tline 400\n[more: read(path='long.txt', start=401)]")


def test_an_end_beyond_the_file_shows_what_there_is(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.txt": "one\ntwo\n"})
    assert call(read, at, path="a.txt", start=2, end=99).text == "a.txt: lines 2–2 of 2\n2\ttwo"
    assert "there are 2 lines" in refused(read, at, path="a.txt", start=3)


def test_a_range_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.txt": "one\n"})
    assert "start must be 1 or more" in refused(read, at, path="a.txt", start=-1)
    assert call(read, at, path="a.txt", start=0).text == call(read, at, path="a.txt").text, (
        "models count from 0"
    )
    assert "end not before it (got 3, 2)" in refused(read, at, path="a.txt", start=3, end=2)


def test_long_lines_are_clipped_and_wide_files_end_early(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"min.js": "x" * 5_000 + "\nend\n", "wide.txt": ("y" * 490 + "\n") * 100})
    assert "x [… 4,500 more characters]\n2\tend" in call(read, at, path="min.js").text
    wide = call(read, at, path="wide.txt").text
    assert len(wide) < 24_000
    assert "start=45)]" in wide


def test_an_empty_file_is_called_empty(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.txt": ""})
    assert call(read, at, path="a.txt").text == "a.txt is empty"


def test_reading_notes_what_the_model_has_seen(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.txt": "one\n"})
    call(read, at, path="./a.txt")
    first = at.read_versions["a.txt"]
    put(at.root, {"a.txt": "two\n"})
    call(read, at, path=str(at.root / "a.txt"))
    assert at.read_versions["a.txt"] != first


def test_a_missing_file_names_the_nearest_ones(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"src/shop/cart.py": "", "src/shop/order.py": "", "tests/test_cart.py": ""})
    assert refused(read, at, path="cart.py") == (
        "read: no such file or folder: 'cart.py'. Nearest: src/shop/cart.py."
    )
    assert "Nearest: src/shop/order.py." in refused(read, at, path="src/shop/ordr.py")
    assert "list shows what there is" in refused(read, at, path="zzz.md")


def test_a_folder_is_not_read_but_listed(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"src/a.py": ""})
    assert "use list(path='src')" in refused(read, at, path="src")


def test_binary_files_are_told_and_not_shown(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"logo.png": b"\x89PNG\r\n\x1a\n\0\0"})
    assert refused(read, at, path="logo.png").startswith("read: logo.png: not")


def test_utf16_is_decoded_and_said(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.txt": "größer\n".encode("utf-16")})
    assert call(read, at, path="a.txt").text == "a.txt: 1 line, utf-16-le\n1\tgrößer"


def test_nothing_outside_is_read_not_even_through_a_link(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.txt": ""})
    (tmp_path / "secret").write_text("key")
    (at.root / "link").symlink_to(tmp_path / "secret")
    for path in ("../secret", str(tmp_path / "secret"), "link"):
        assert "outside the workspace" in refused(read, at, path=path)


def test_a_huge_file_is_read_only_as_far_as_asked(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"small.txt": "x"})
    call(read, at, path="small.txt")  # what is loaded once is not counted below
    with (at.root / "huge.log").open("wb") as file:
        for number in range(1, 2001):
            file.write(b"line %d\n" % number)
        file.truncate(100 << 20)  # the rest is one line of NULs, a hole that costs no disk
    (at.root / "core").write_bytes(b"\0")
    os.truncate(at.root / "core", 100 << 20)
    tracemalloc.start()
    text = call(read, at, path="huge.log", start=3, end=4).text
    binary = refused(read, at, path="core")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert text == (
        "huge.log: lines 3–4, 104.9 MB\n3\tline 3\n4\tline 4\n[more: read(path='huge.log', start=5)]"
    )
    assert binary == "read: 'core' is binary: look at it with shell"
    assert peak < 1 << 20


@pytest.mark.slow
def test_a_huge_line_does_not_fill_the_memory(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"small.txt": "x"})
    call(read, at, path="small.txt")  # what is loaded once is not counted below
    with (at.root / "dump.json").open("wb") as file:
        for _ in range(640):
            file.write(b"x" * (64 << 10))
        file.write(b"\nlast\n")
    tracemalloc.start()
    text = call(read, at, path="dump.json").text
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert text.endswith("[… 41,942,540 more bytes]\n2\tlast")
    assert peak < 1 << 20


def test_a_listing_is_a_tree_without_what_git_ignores(tmp_path: Path) -> None:
    at = workspace(
        tmp_path,
        {
            ".gitignore": "build/\n*.log\n",
            "README.md": "",
            "src/shop/cart.py": "",
            "src/shop/api/v1.py": "",
            "src/main.py": "",
            "build/out.js": "",
            "x.log": "",
            ".git/config": "",
        },
    )
    assert call(list_files, at).text == (
        ".: 5 files, 3 folders (depth 2)\nsrc/\n  shop/  (2 files)\n  main.py\n.gitignore\nREADME.md"
    )
    assert call(list_files, at, path="src/shop", depth=1).text == (
        "src/shop: 2 files, 1 folder (depth 1)\napi/  (1 file)\ncart.py"
    )


@pytest.mark.slow
def test_an_ignored_folder_is_listed_when_asked_for_by_name(tmp_path: Path) -> None:
    at = workspace(tmp_path, {".gitignore": "build/\n", "build/out.js": ""})
    assert call(list_files, at, path="build").text.startswith("build: 1 file, 0 folders")
    assert "out.js" in call(list_files, at, path="build").text


def test_links_are_listed_with_where_they_lead(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"AGENTS.md": ""})
    (at.root / "CLAUDE.md").symlink_to("AGENTS.md")
    assert "CLAUDE.md -> AGENTS.md" in call(list_files, at).text


def test_folders_of_data_are_counted_instead_of_named(tmp_path: Path) -> None:
    at = workspace(tmp_path, {f"data/{n:03}.csv": "" for n in range(100)})
    assert "… 40 more files (40 .csv)" in call(list_files, at).text


@pytest.mark.slow
def test_a_listing_is_bounded(tmp_path: Path) -> None:
    at = workspace(tmp_path, {f"d{n}/f{m}.txt": "" for n in range(50) for m in range(10)})
    text = call(list_files, at).text
    assert len(text.splitlines()) == 302
    assert "… 250 more entries" in text


def test_list_refuses_what_is_not_there(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"src/a.py": ""})
    assert "Nearest: src." in refused(list_files, at, path="scr")
    assert "depth must be 1 to 20" in refused(list_files, at, depth=0)
    assert call(list_files, at, path="src/a.py").text == "src/a.py is a file (0 bytes)"


def test_write_creates_files_and_their_folders(tmp_path: Path) -> None:
    at = workspace(tmp_path)
    observation = call(write, at, path="src/new.py", content="x = 1\n")
    assert (at.root / "src/new.py").read_text() == "x = 1\n"
    assert observation.text == "write: src/new.py: created, 1 line"
    assert observation.data["path"] == "src/new.py"
    assert observation.data["diff"].splitlines() == [
        "--- /dev/null",
        "+++ b/src/new.py",
        "@@ -0,0 +1 @@",
        "+x = 1",
    ]
    assert at.changes.originals == {"src/new.py": None}


def test_write_replaces_only_what_was_read(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.txt": "one\n"})
    assert refused(write, at, path="a.txt", content="two\n") == (
        "write: a.txt: no change: exists and was not read: read it first, or edit a part of it"
    )
    call(read, at, path="a.txt")
    put(at.root, {"a.txt": "changed by someone\n"})
    assert "changed on disk since you read it" in refused(write, at, path="a.txt", content="two\n")
    assert (at.root / "a.txt").read_text() == "changed by someone\n"
    call(read, at, path="a.txt")
    assert call(write, at, path="a.txt", content="two\n").text == "write: a.txt: replaced, 1 line (+1 −1)"
    assert call(write, at, path="a.txt", content="three\n").text.startswith("write: a.txt: replaced")
    assert at.changes.originals == {"a.txt": b"changed by someone\n"}


def test_write_keeps_line_endings_and_mode(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"run.bat": "a\r\nb\r\n"})
    (at.root / "run.bat").chmod(0o755)
    call(read, at, path="run.bat")
    call(write, at, path="run.bat", content="a\nc\n")
    assert (at.root / "run.bat").read_bytes() == b"a\r\nc\r\n"
    assert (at.root / "run.bat").stat().st_mode & 0o777 == 0o755


def test_write_tells_of_a_syntax_error_and_writes_all_the_same(tmp_path: Path) -> None:
    at = workspace(tmp_path)
    text = call(write, at, path="a.py", content="def f(:\n").text
    assert "syntax error: a.py:1: invalid syntax" in text
    assert (at.root / "a.py").exists()


def test_write_refuses_folders_protected_files_and_the_outside(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"src/a.py": ""})
    assert "is a folder" in refused(write, at, path="src", content="x")
    assert "protected" in refused(write, at, path=".git/config", content="x")
    assert "outside the workspace" in refused(write, at, path="../x", content="x")
    assert not (tmp_path / "x").exists()


def test_reading_tools_say_so() -> None:
    assert [tool.reads_only for tool in (read, list_files, write)] == [True, True, False]


LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 9\n"
ANNEX = "/annex/objects/SHA256E-s9--" + "0" * 64 + ".csv\n"


@pytest.mark.parametrize(
    ("text", "command"), [(LFS, "git lfs pull --include=t.csv"), (ANNEX, "git annex get t.csv")]
)
def test_a_pointer_to_data_elsewhere_is_named_and_not_edited(text: str, command: str, tmp_path: Path) -> None:
    at = workspace(tmp_path, {"t.csv": text})
    assert command in call(read, at, path="t.csv").text.split("\n")[0]
    changed = text.replace("9", "99", 1)
    assert command in refused(write, at, path="t.csv", content=changed)
    assert command in refused(
        edit, at, path="t.csv", old=text.split("\n")[-2], new=changed.split("\n")[-2] + "9"
    )
    assert (at.root / "t.csv").read_text() == text
    call(write, at, path="t.csv", content="a,b\n1,2\n")  # the data itself may take its place
    assert (at.root / "t.csv").read_text() == "a,b\n1,2\n"


def test_a_text_about_pointers_is_none(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"notes.md": f"A pointer:\n\n{LFS}"})
    assert call(read, at, path="notes.md").text.startswith("notes.md: 5 lines\n")
    call(edit, at, path="notes.md", old="size 9", new="size 10")

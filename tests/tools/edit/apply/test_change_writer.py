"""Changes made by tools: what changed on disk meanwhile is seen, what fails leaves nothing behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sandbox.errors import UserError
from sandbox.fs.text_file import compute_fingerprint
from sandbox.fs.transaction.execution import prepare_files
from sandbox.fs.transaction.journal import Journal
from sandbox.fs.transaction.transaction_plan import plan_transaction
from sandbox.fs.transaction.transactions import Write
from sandbox.fs.workspace_tree import Tree
from tests.tools.workspaces import call, put, refused, workspace
from tools.core.tool_settings import EditSettings, ToolSettings
from tools.core.workspace import Workspace
from tools.edit.edit_tools import apply_patch, edit, edit_lines, edit_symbol
from tools.fs.file_tools import read, write

LINES = "".join(f"line {number}\n" for number in range(1, 31))


def started(folder: Path, **settings: object) -> Workspace:
    """A file of thirty lines that the model has read."""
    at = workspace(folder, {"a.txt": LINES}, **settings)
    call(read, at, path="a.txt")
    return at


def patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])


def tree(at: Workspace) -> dict[str, str]:
    """Every file, or where a link leads."""
    paths = (path for path in sorted(at.root.rglob("*")) if path.is_symlink() or path.is_file())
    return {
        str(path.relative_to(at.root)): str(path.readlink()) if path.is_symlink() else path.read_text()
        for path in paths
    }


# ── A file that changed since the model read it ───────────────────────────────────────────────────


def test_a_change_elsewhere_is_noted_and_the_edit_made(tmp_path: Path) -> None:
    at = started(tmp_path)
    put(at.root, {"a.txt": LINES.replace("line 3\n", "line three\n")})
    text = call(edit, at, path="a.txt", old="line 20", new="line zwanzig").text
    assert "note: a.txt has changed on disk since you read it (line 3), away from this edit" in text
    assert (at.root / "a.txt").read_text() == LINES.replace("line 3\n", "line three\n").replace(
        "line 20", "line zwanzig"
    )


def test_a_change_nearby_refuses_the_edit_and_shows_what_is_there(tmp_path: Path) -> None:
    at = started(tmp_path)
    put(at.root, {"a.txt": LINES.replace("line 18\n", "line eighteen\n")})
    assert refused(edit, at, path="a.txt", old="line 20", new="x") == (
        "edit: a.txt: no change: it changed on disk since you read it, where you would change it.\n"
        "Now line 18:\n"
        "    16\tline 16\n    17\tline 17\n    18\tline eighteen\n    19\tline 19\n    20\tline 20\n"
        "Read it again, then edit."
    )
    assert at.changes.originals == {}
    call(read, at, path="a.txt", start=15, end=25)
    assert "note" not in call(edit, at, path="a.txt", old="line 20", new="x").text


def test_lines_that_are_gone_nearby_refuse_the_edit(tmp_path: Path) -> None:
    at = started(tmp_path)
    put(at.root, {"a.txt": LINES.replace("line 18\nline 19\n", "")})
    assert "Now lines are gone before line 18:" in refused(edit, at, path="a.txt", old="line 20", new="x")


def test_after_an_edit_of_a_stale_file_ones_own_lines_are_known_and_the_others_are_not(
    tmp_path: Path,
) -> None:
    at = started(tmp_path)
    put(at.root, {"a.txt": LINES.replace("line 3\n", "line three\n")})
    call(edit, at, path="a.txt", old="line 20", new="one\ntwo")
    beside = call(edit, at, path="a.txt", old="two", new="zwei").text
    assert "changed on disk since you read it (line 3)" in beside
    assert "Now line 3:" in refused(edit, at, path="a.txt", old="line 4\n", new="x\n")
    call(read, at, path="a.txt")
    assert "note" not in call(edit, at, path="a.txt", old="line 4\n", new="x\n").text


def test_other_line_endings_alone_are_no_change(tmp_path: Path) -> None:
    at = started(tmp_path)
    put(at.root, {"a.txt": LINES.replace("\n", "\r\n").encode()})
    assert "note" not in call(edit, at, path="a.txt", old="line 20", new="x").text
    assert (at.root / "a.txt").read_bytes() == LINES.replace("line 20", "x").replace("\n", "\r\n").encode()


def test_a_stale_file_is_neither_replaced_nor_removed(tmp_path: Path) -> None:
    at = started(tmp_path)
    put(at.root, {"a.txt": f"new\n{LINES}"})
    assert "changed on disk" in refused(write, at, path="a.txt", content="x\n")
    assert "changed on disk" in refused(apply_patch, at, patch=patch("*** Delete File: a.txt"))
    assert tree(at) == {"a.txt": f"new\n{LINES}"}


def test_a_stale_file_may_move_for_nothing_of_it_is_lost(tmp_path: Path) -> None:
    at = started(tmp_path)
    put(at.root, {"a.txt": f"new\n{LINES}"})
    moved = patch("*** Update File: a.txt", "*** Move to: b.txt", "@@", "-line 20", "+x")
    text = call(apply_patch, at, patch=moved).text
    assert "note: a.txt has changed on disk since you read it (line 1)" in text
    assert tree(at) == {"b.txt": f"new\n{LINES}".replace("line 20", "x")}
    assert "changed on disk" in refused(write, at, path="b.txt", content="x\n")


def test_nothing_moves_over_a_file_that_changed_or_was_never_read(tmp_path: Path) -> None:
    at = started(tmp_path)
    put(at.root, {"b.txt": "b\n", "c.txt": "c\n"})
    call(read, at, path="b.txt")
    put(at.root, {"b.txt": "bb\n"})
    over_b = patch("*** Update File: a.txt", "*** Move to: b.txt", "@@", "-line 20", "+x")
    assert "where another file would move" in refused(apply_patch, at, patch=over_b)
    assert "exists and was not read" in refused(apply_patch, at, patch=over_b.replace("b.txt", "c.txt"))
    assert tree(at) == {"a.txt": LINES, "b.txt": "bb\n", "c.txt": "c\n"}
    call(read, at, path="b.txt")
    call(apply_patch, at, patch=over_b)
    assert tree(at) == {"b.txt": LINES.replace("line 20", "x"), "c.txt": "c\n"}


def test_what_was_read_is_still_known_where_it_moved(tmp_path: Path) -> None:
    at = started(tmp_path)
    call(apply_patch, at, patch=patch("*** Update File: a.txt", "*** Move to: b.txt", "@@", "-line 20", "+x"))
    assert call(write, at, path="b.txt", content="y\n").text.startswith("write: b.txt: replaced")


def test_an_edit_does_not_count_as_reading(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.txt": LINES})
    call(edit, at, path="a.txt", old="line 20", new="x")
    assert "was not read" in refused(write, at, path="a.txt", content="y\n")
    assert "read the file first" in refused(edit_lines, at, path="a.txt", first=1, last=1, new="y")


# ── What is there already ─────────────────────────────────────────────────────────────────────────


def test_an_edit_that_was_made_before_is_no_failure_and_writes_nothing(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.py": "import os\nimport sys\n\nRATE = 0.19\n"})
    stamp = (at.root / "a.py").stat().st_mtime_ns
    again = call(edit, at, path="a.py", old="RATE = 0.16", new="RATE = 0.19")
    assert not again.failed
    assert again.text == "edit: a.py: no change: already applied: `new` stands at line 4, and `old` nowhere"
    assert (at.root / "a.py").stat().st_mtime_ns == stamp
    assert at.changes.originals == {}


def test_a_patch_that_was_applied_before_is_so_already(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.py": "RATE = 0.16\n", "b.py": "OLD = 1\nTWO = 2\n", "gone.py": "x = 1\n"})
    text = patch(
        *("*** Update File: a.py", "@@", "-RATE = 0.16", "+RATE = 0.19"),
        *("*** Update File: b.py", "*** Move to: c.py", "@@", "-OLD = 1", "+NEW = 1"),
        *("*** Add File: new.py", "+fresh = True"),
        "*** Delete File: gone.py",
    )
    assert call(apply_patch, at, patch=text).text.startswith("apply_patch: 4 files changed (+3 −3)")
    done = tree(at)
    again = call(apply_patch, at, patch=text)
    assert not again.failed
    assert again.text.startswith("apply_patch: no change: all of it is so already\na.py: no change: already")
    assert tree(at) == done


def test_a_patch_of_which_only_a_part_was_made_is_refused(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.py": "RATE = 0.19\nx = 1\n"})
    half = patch("*** Update File: a.py", "@@", "-RATE = 0.16", "+RATE = 0.19", "@@", "-x = 1", "+x = 2")
    assert "already" in refused(apply_patch, at, patch=half)
    other = patch(
        *("*** Update File: a.py", "@@", "-RATE = 0.16", "+RATE = 0.19", "*** Add File: b.py", "+b = 1")
    )
    assert "1 other change would fit" in refused(apply_patch, at, patch=other)
    assert tree(at) == {"a.py": "RATE = 0.19\nx = 1\n"}


def test_a_missing_file_alone_is_not_taken_for_one_that_was_removed(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.py": ""})
    assert "no such file" in refused(apply_patch, at, patch=patch("*** Delete File: b.py"))


# ── What may not be written, and what goes wrong ──────────────────────────────────────────────────


def test_links_are_followed_inside_and_never_outside(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"real.txt": "a\n"})
    (tmp_path / "out.txt").write_text("a\n")
    (at.root / "in").symlink_to("real.txt")
    (at.root / "out").symlink_to(tmp_path / "out.txt")
    call(edit, at, path="in", old="a", new="b")
    assert "outside the workspace" in refused(edit, at, path="out", old="a", new="b")
    assert tree(at) == {"in": "real.txt", "out": str(tmp_path / "out.txt"), "real.txt": "b\n"}
    assert at.changes.originals == {"real.txt": b"a\n"}


def test_of_a_link_the_link_is_removed(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"real.txt": "a\n"})
    (at.root / "in").symlink_to("real.txt")
    (at.root / "out").symlink_to("/etc/hostname")
    call(apply_patch, at, patch=patch("*** Delete File: in", "*** Delete File: out"))
    assert tree(at) == {"real.txt": "a\n"}
    assert at.changes.originals == {"in": b"real.txt", "out": b"/etc/hostname"}


def test_protected_files_are_not_written_and_not_noted(tmp_path: Path) -> None:
    at = workspace(tmp_path, {".git/config": "[core]\n", "a.txt": "a\n"})
    for lines in (
        ("*** Update File: .git/config", "@@", "-[core]", "+[x]"),
        ("*** Add File: .git/hooks/pre-commit", "+x"),
        ("*** Delete File: .git/config",),
        ("*** Update File: a.txt", "*** Move to: .git/a", "@@", "-a", "+b"),
    ):
        assert "protected" in refused(apply_patch, at, patch=patch(*lines))
    assert tree(at) == {".git/config": "[core]\n", "a.txt": "a\n"}
    assert at.changes.originals == {}


def test_a_folder_is_named_with_what_lists_it(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"src/a.py": "a = 1\n"})
    assert refused(edit, at, path="src", old="a", new="b") == (
        "edit: src: no change: is a folder: use list(path='src/')"
    )
    assert "is a folder" in refused(apply_patch, at, patch=patch("*** Add File: src", "+x"))
    moved = patch("*** Update File: src/a.py", "*** Move to: src", "@@", "-a = 1", "+a = 2")
    assert "it is a folder" in refused(apply_patch, at, patch=moved)


def test_binary_files_are_not_edited_but_may_be_removed(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"logo.png": b"\x89PNG\0\0"})
    assert "not text" in refused(edit, at, path="logo.png", old="PNG", new="x")
    assert "not text" in refused(write, at, path="logo.png", content="x")
    call(apply_patch, at, patch=patch("*** Delete File: logo.png"))
    assert tree(at) == {}
    assert at.changes.originals == {"logo.png": b"\x89PNG\0\0"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_file_that_may_not_be_written_stays_and_is_not_noted(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.txt": "a\n", "b.txt": "b\n"})
    (at.root / "b.txt").chmod(0o444)
    lines = ("*** Update File: a.txt", "@@", "-a", "+x", "*** Update File: b.txt", "@@", "-b", "+x")
    with pytest.raises(UserError, match="no permission"):
        call(apply_patch, at, patch=patch(*lines))
    assert tree(at) == {"a.txt": "a\n", "b.txt": "b\n"}
    assert at.changes.originals == {}


def test_a_parent_that_is_a_file_refuses_and_leaves_nothing(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.txt": "a\n"})
    lines = ("*** Add File: new/b.txt", "+b", "*** Add File: a.txt/c.txt", "+c")
    assert "a.txt" in refused(apply_patch, at, patch=patch(*lines))
    assert sorted(path.name for path in at.root.rglob("*")) == ["a.txt"]
    assert at.changes.originals == {}


def test_an_edit_that_brings_a_syntax_error_is_refused_where_that_is_wanted(tmp_path: Path) -> None:
    refusing = ToolSettings(edit=EditSettings(syntax_errors="refuse"))
    at = workspace(tmp_path, {"a.py": "def f():\n    return 1\n"}, settings=refusing)
    text = refused(edit_symbol, at, path="a.py", symbol="f", new="def f(:\n    return 2\n")
    assert "nothing was written: the result would not parse" in text
    assert tree(at) == {"a.py": "def f():\n    return 1\n"}
    assert at.changes.originals == {}


def test_what_a_killed_process_left_is_ended_and_told(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"a.txt": "a\n", "b.txt": "b\n"})
    files = Tree(at.root)
    begun = [
        Write(path="a.txt", content=b"half\n", before=compute_fingerprint(b"a\n")),
        Write(path="b.txt", content=b"half\n", before=compute_fingerprint(b"b\n")),
    ]
    record = plan_transaction(files, begun)
    journal = Journal(at.journal)
    journal.lock().close()
    journal.write(record, durable=False)
    prepare_files(files, record, begun)  # and here it was killed
    text = refused(edit, at, path="a.txt", old="nowhere to be found", new="x")
    assert text.endswith("note: an interrupted edit of 2 files was undone")
    assert tree(at) == {"a.txt": "a\n", "b.txt": "b\n"}
    journal.write(record, durable=False)
    prepare_files(files, record, begun)
    journal.mark_commit()
    made = call(edit, at, path="b.txt", old="half", new="whole").text
    assert "note: an interrupted edit of 2 files was finished" in made
    assert tree(at) == {"a.txt": "half\n", "b.txt": "whole\n"}


def test_a_redacted_value_is_not_written_back_over_the_secret(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    at = workspace(tmp_path, {"keys.py": f'TOKEN = "{secret}"\nNAME = "x"\n'})
    call(read, at, path="keys.py")
    text = refused(write, at, path="keys.py", content='TOKEN = "[redacted]"\nNAME = "y"\n')
    assert "nothing was written" in text
    assert secret in (at.root / "keys.py").read_text()
    call(edit, at, path="keys.py", old='NAME = "x"', new='NAME = "y"')
    assert 'NAME = "y"' in (at.root / "keys.py").read_text()

"""Plans: several changes of one tree, in order, worked out in memory; all problems are named at once."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.fs.transaction.transactions import Transactions
from sandbox.fs.workspace_tree import Tree
from tools.edit.apply.edit_plan import PlanRefused, build_writes
from tools.edit.apply.planner import plan_changes
from tools.edit.edit_model import Create, Delete, FileChange, Hunk, Line, Lines, Replace, Update


def tree(folder: Path, **files: str | bytes) -> Tree:
    """A tree of files; "_" in a name stands for a dot."""
    root = folder / "root"
    root.mkdir()
    for name, content in files.items():
        data = content if isinstance(content, bytes) else content.encode()
        (root / name.replace("_", ".")).write_bytes(data)
    return Tree(root)


def replaced(path: str, old: str, new: str, to: str = "") -> Update:
    return Update(path=path, edits=(Replace(old=old, new=new),), to=to)


def done(files: Tree, *changes: FileChange) -> dict[str, bytes]:
    """Plan and write; the files afterwards."""
    transactions = Transactions(files, files.root.parent / "journal")
    with transactions.lock_tree():
        transactions.commit(build_writes(plan_changes(files, changes)))
    return {
        str(path.relative_to(files.root)): path.read_bytes()
        for path in sorted(files.root.rglob("*"))
        if path.is_file()
    }


def refused(files: Tree, *changes: FileChange, known: Collection[str] = ()) -> PlanRefused:
    with pytest.raises(PlanRefused) as refusal:
        plan_changes(files, changes, known=lambda path: path in known)
    return refusal.value


def test_one_file_may_be_changed_twice_and_its_places_are_those_of_the_result(tmp_path: Path) -> None:
    files = tree(tmp_path, a_txt="one\ntwo\nthree\n")
    first, second = replaced("a.txt", "three", "3"), replaced("a.txt", "one", "1\n1b")
    [planned] = plan_changes(files, [first, second])
    assert planned.new_text == "1\n1b\ntwo\n3\n"
    assert [(place.edit, place.first, place.last) for place in planned.places] == [(0, 4, 4), (1, 1, 2)]


def test_a_file_can_be_moved_and_then_edited_at_its_new_place(tmp_path: Path) -> None:
    files = tree(tmp_path, a_txt="one\ntwo\n")
    assert done(files, replaced("a.txt", "one", "1", to="b/c.txt"), replaced("b/c.txt", "two", "2")) == {
        "b/c.txt": b"1\n2\n"
    }


def test_a_file_that_moved_is_not_found_where_it_was(tmp_path: Path) -> None:
    files = tree(tmp_path, a_txt="one\ntwo\n")
    refusal = refused(files, replaced("a.txt", "one", "1", to="b.txt"), replaced("a.txt", "two", "2"))
    assert [(each.path, each.missing) for each in refusal.problems] == [("a.txt", "a.txt")]


def test_a_move_keeps_mode_encoding_and_line_endings(tmp_path: Path) -> None:
    files = tree(tmp_path, a_txt="größe\r\nzwei\r\n".encode("latin-1"))
    (files.root / "a.txt").chmod(0o750)
    assert done(files, replaced("a.txt", "zwei", "2", to="b.txt")) == {
        "b.txt": "größe\r\n2\r\n".encode("latin-1")
    }
    assert (files.root / "b.txt").stat().st_mode & 0o777 == 0o750


def test_moves_follow_one_another_and_lead_back(tmp_path: Path) -> None:
    files = tree(tmp_path, a_txt="one\n")
    [planned] = [
        each
        for each in plan_changes(
            files, [replaced("a.txt", "one", "1", to="b.txt"), replaced("b.txt", "1", "2", to="c.txt")]
        )
        if each.after is not None
    ]
    assert (planned.path, planned.source, planned.after) == ("c.txt", "a.txt", b"2\n")
    back = [replaced("a.txt", "one", "1", to="b.txt"), replaced("b.txt", "1", "2", to="a.txt")]
    assert done(files, *back) == {"a.txt": b"2\n"}


def test_two_files_are_not_exchanged_by_halves(tmp_path: Path) -> None:
    files = tree(tmp_path, a_txt="a\n", b_txt="b\n")
    swap = [Update(path="a.txt", edits=(), to="b.txt"), Update(path="b.txt", edits=(), to="a.txt")]
    assert "one after another" in refused(files, *swap, known=["b.txt"]).problems[0].text


def test_a_file_that_is_removed_may_be_made_anew(tmp_path: Path) -> None:
    files = tree(tmp_path, a_txt="one\n")
    assert done(files, Delete(path="a.txt"), Create(path="a.txt", content="new\n")) == {"a.txt": b"new\n"}


def test_a_file_that_is_made_may_be_edited_and_removed(tmp_path: Path) -> None:
    files = tree(tmp_path)
    made = Create(path="d/a.txt", content="one\n")
    assert done(files, made, replaced("d/a.txt", "one", "1")) == {"d/a.txt": b"1\n"}
    other = Create(path="e/b.txt", content="one\n")
    assert done(files, other, Delete(path="e/b.txt")) == {"d/a.txt": b"1\n"}


def test_every_problem_is_named_and_what_would_fit_is_counted(tmp_path: Path) -> None:
    files = tree(tmp_path, a_txt="one\n", b_txt=b"\x89PNG\0\0")
    refusal = refused(
        files,
        replaced("a.txt", "one", "1"),
        replaced("b.txt", "PNG", "x"),
        replaced("c.txt", "x", "y"),
        Create(path="../d.txt", content=""),
        Create(path=".git/config", content=""),
    )
    assert [each.path for each in refusal.problems] == ["b.txt", "c.txt", "../d.txt", ".git/config"]
    assert refusal.fitting == 1
    assert not refusal.already


def test_characters_that_a_files_encoding_lacks_are_a_problem_of_that_file(tmp_path: Path) -> None:
    files = tree(tmp_path, a_txt="größe\n".encode("latin-1"), b_txt="b\n")
    refusal = refused(files, replaced("a.txt", "größe", "→"), replaced("b.txt", "b", "→"))
    assert [(each.path, "a guess: '→'" in each.text) for each in refusal.problems] == [("a.txt", True)]


def test_a_diff_that_makes_a_new_file_replaces_none(tmp_path: Path) -> None:
    files = tree(tmp_path, a_txt="one\n")
    assert "exists and was not read" in refused(files, Create(path="a.txt", content="x\n")).problems[0].text
    made = Create(path="a.txt", content="x\n", new=True)
    assert "makes a new file" in refused(files, made, known=["a.txt"]).problems[0].text
    [same] = plan_changes(files, [Create(path="a.txt", content="one\n")])
    assert not same.has_changes


def test_a_diff_that_removes_a_file_removes_no_other(tmp_path: Path) -> None:
    files = tree(tmp_path, a_txt="one\ntwo\n")
    wrong = Hunk(lines=(Line("-", "eins"), Line("-", "zwei")))
    part = Hunk(lines=(Line("-", "one"),))
    assert "is not as the diff" in refused(files, Delete(path="a.txt", hunks=(wrong,))).problems[0].text
    assert "leaves 1 line" in refused(files, Delete(path="a.txt", hunks=(part,))).problems[0].text
    whole = Hunk(lines=(Line("-", "one"), Line("-", "two")))
    assert done(files, Delete(path="a.txt", hunks=(whole,))) == {}


def test_a_diff_of_a_file_with_crlf_fits_to_the_letter(tmp_path: Path) -> None:
    files = tree(tmp_path, a_txt=b"one\r\ntwo\r\n")
    hunk = Hunk(lines=(Line(" ", "one\r"), Line("-", "two\r"), Line("+", "2\r")))
    [planned] = plan_changes(files, [Update(path="a.txt", edits=(hunk,))], strictest=True)
    assert planned.after == b"one\r\n2\r\n"


def test_a_mode_that_a_file_has_is_no_change(tmp_path: Path) -> None:
    files = tree(tmp_path, a_sh="echo\n")
    (files.root / "a.sh").chmod(0o755)
    executable = Update(path="a.sh", edits=(), mode=0o755)
    assert [each.has_changes for each in plan_changes(files, [executable])] == [False]
    (files.root / "a.sh").chmod(0o644)
    assert done(files, executable) == {"a.sh": b"echo\n"}
    assert (files.root / "a.sh").stat().st_mode & 0o777 == 0o755


def test_a_path_with_a_diffs_prefix_or_from_the_disks_root_is_understood(tmp_path: Path) -> None:
    files = tree(tmp_path, a_txt="one\n")
    for spelled in ("a/a.txt", "root/a.txt", "/a.txt", "./a.txt", "`a.txt`", "file:///a.txt"):
        [planned] = plan_changes(files, [replaced(spelled, "one", "1")])
        assert planned.path == "a.txt", spelled


def test_a_name_is_first_taken_as_it_is(tmp_path: Path) -> None:
    files = tree(tmp_path)
    for name in ("back\\slash.txt", "'quoted'", " space "):
        (files.root / name).write_text("one\n")
        [planned] = plan_changes(files, [replaced(name, "one", "1")])
        assert (planned.path, planned.notes) == (name, ())


LINES = st.lists(st.sampled_from(["a", "b", "", "  c"]), min_size=1, max_size=12)
ENDINGS = st.sampled_from(["\n", "\r\n"])


@pytest.mark.slow
@given(lines=LINES, data=st.data())
def test_no_byte_outside_the_lines_of_an_edit_changes(
    lines: list[str], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pieces = [line + data.draw(ENDINGS) for line in lines]
    files = tree(tmp_path_factory.mktemp("plan"), a_txt="".join(pieces))
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    new = "".join(f"NEW {number}\n" for number in range(first, last + 1))
    [planned] = plan_changes(files, [Update(path="a.txt", edits=(Lines(first=first, last=last, new=new),))])
    before = (planned.before or b"").splitlines(keepends=True)
    after = (planned.after or b"").splitlines(keepends=True)
    assert after[: first - 1] == before[: first - 1]
    assert after[last:] == before[last:]
    assert [line.lstrip(b"NEW 0123456789") for line in after[first - 1 : last]] == [
        line[len(line.rstrip(b"\r\n")) :] for line in before[first - 1 : last]
    ]

"""Line endings follow the lines that an edit keeps, where equal lines have different ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.fs.workspace_tree import Tree
from tools.edit.apply.line_endings import create_origins, update_origins
from tools.edit.apply.planner import plan_changes
from tools.edit.edit_model import Create, Edit, Hunk, Line, Replace, Update
from tools.edit.splicing import TextSplice


def result(folder: Path, content: bytes, *edits: Edit) -> bytes | None:
    (folder / "a.txt").write_bytes(content)
    return plan_changes(Tree(folder), [Update(path="a.txt", edits=(each,)) for each in edits])[0].after


@pytest.mark.parametrize(
    ("marks", "after"),
    [(" x|-a| a| y", b"x\r\na\ny\r\n"), (" x| a|-a| y", b"x\r\na\r\ny\r\n")],
    ids=["the first", "the second"],
)
def test_of_two_equal_lines_the_one_that_a_diff_names_goes_with_its_ending(
    tmp_path: Path, marks: str, after: bytes
) -> None:
    lines = tuple(Line(mark[:1], mark[1:]) for mark in marks.split("|"))  # type: ignore[arg-type]
    assert result(tmp_path, b"x\r\na\r\na\ny\r\n", Hunk(lines=lines)) == after


def test_a_block_that_replaces_one_of_two_equal_lines_leaves_the_other_its_ending(tmp_path: Path) -> None:
    content = b"x\r\na\r\na\ny\r\n"
    first = Replace(old="x\na\na\ny\n", new="x\nfresh\na\ny\n")
    assert result(tmp_path, content, first) == b"x\r\nfresh\r\na\ny\r\n"
    second = Replace(old="x\na\na\ny\n", new="x\na\nfresh\ny\n")
    assert result(tmp_path, content, second) == b"x\r\na\r\nfresh\ny\r\n"


def test_several_updates_of_one_file_are_followed_one_after_another(tmp_path: Path) -> None:
    gone = Hunk(lines=(Line(" ", "x"), Line("-", "a")))
    more = Hunk(lines=(Line(" ", "x"), Line("+", "new")))
    content = b"x\r\na\r\na\na\r\ny\r\n"
    assert result(tmp_path, content, gone, more) == b"x\r\nnew\r\na\na\r\ny\r\n"
    assert result(tmp_path, content, gone, gone, more) == b"x\r\nnew\r\na\r\ny\r\n"


def test_a_file_written_whole_and_then_edited_has_its_endings_by_its_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"x\r\na\ny\r\n")
    changes = [
        Create(path="a.txt", content="a\nx\ny\n"),
        Update(path="a.txt", edits=(Replace(old="x\n", new="z\n"),)),
    ]
    planned = plan_changes(Tree(tmp_path), changes, known=lambda path: True)
    assert planned[0].after == b"a\nz\r\ny\r\n"


PIECES = st.lists(st.sampled_from(["a", "b", ""]), min_size=1, max_size=8)


@pytest.mark.slow
@given(st.data(), PIECES)
def test_every_ending_outside_of_the_splices_stays_where_it_is(
    data: st.DataObject, pieces: list[str]
) -> None:
    text = "\n".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=4), "cuts"))
    splices = [
        TextSplice(start=start, end=end, new="\n".join(data.draw(PIECES, "new")))
        for start, end in zip(cuts[::2], cuts[1::2], strict=False)
    ]
    origins = update_origins(create_origins(text), text, splices)
    after, ends, line, offset = "", [], 0, 0
    for splice in [*splices, TextSplice(start=len(text), end=len(text), new="")]:
        kept = text[offset : splice.start]
        ends += range(line, line + kept.count("\n"))
        ends += [-1] * splice.new.count("\n")
        line += text.count("\n", offset, splice.end)
        after, offset = after + kept + splice.new, splice.end
    assert len(origins) == after.count("\n") + 1
    assert all(end in (-1, origin) for end, origin in zip(ends, origins, strict=False))
    known = [origin for origin in origins if origin is not None]
    assert known == sorted(set(known))

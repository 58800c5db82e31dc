"""What holds for every file and every edit of it: the intended text or none, one site or none, in any order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sandbox.fs.workspace_tree import Tree
from tests.support.edit_rendering import render_blocks, render_diff, render_patch
from tests.support.stress import count_cases
from tests.tools.edit.drawn import Drawn, as_block, edits, joined, lines_of
from tests.tools.edit.slips import SLIPS, Slip
from tools.edit.apply.edit_engine import EditRefused, edit_text
from tools.edit.apply.edit_plan import PlanRefused
from tools.edit.apply.planner import plan_changes
from tools.edit.edit_model import Edit, FileChange, Hunk, Line, Replace, Update
from tools.edit.formats import parse_edits

pytestmark = pytest.mark.slow

EXAMPLES = count_cases(60)


def forms(edit: Drawn) -> dict[str, Edit]:
    """The same edit in every form that says it by its lines."""
    block = edit.block()
    part = Replace(old=block.old.removesuffix("\n"), new=block.new.removesuffix("\n"))
    return {"hunk": edit.hunk(), "block": block, "part": part}


def stands_once(edit: Drawn, form: str) -> bool:
    """Its old lines have one place, as lines or (indented lines hold unindented ones) as a part of the text."""
    if form == "part":
        old = "\n".join(edit.old)
        return edit.text.find(old) == edit.text.rfind(old)
    return edit.places == 1


@settings(max_examples=EXAMPLES)
@given(edits())
def test_a_true_edit_gives_the_intended_text_wherever_its_lines_stand_once(edit: Drawn) -> None:
    for name, form in forms(edit).items():
        if name == "part" and ends_blank(edit):
            continue  # an argument lacks its last line end: a blank line at its end is none
        if name == "part" and not edit.block().new and not edit.old[0].strip():
            continue  # of an argument that goes, a line end at its beginning is that of the line before
        if name != "hunk" and not edit.text.endswith("\n") and edit.result[-1:] in ("", "\n"):
            continue  # nor is one at the end of a file without a final newline: it is that newline
        try:
            result = edit_text(edit.text, [form]).text
        except EditRefused:
            unclear = has_twin(edit) or loses_indentation(edit)
            assert unclear or not stands_once(edit, name) or not "".join(edit.old).strip()
        else:
            assert result == edit.result


@settings(max_examples=EXAMPLES)
@given(edits())
def test_a_diff_with_right_numbers_is_applied_where_it_says(edit: Drawn) -> None:
    hunk = replace(edit.hunk(), start=edit.start + 1, counted=True)
    assume("".join(edit.old).strip())
    assert edit_text(edit.text, [hunk]).text == edit.result


@settings(max_examples=EXAMPLES)
@given(edits(), st.sampled_from(["blocks", "patch", "diff"]), st.data())
def test_no_byte_outside_the_site_changes_whatever_the_endings_are(
    edit: Drawn, form: str, data: st.DataObject
) -> None:
    endings = data.draw(
        st.lists(st.sampled_from([b"\n", b"\r\n"]), min_size=1, max_size=5), "endings, in turn"
    )
    raw = [line.encode() + endings[i % len(endings)] for i, line in enumerate(edit.lines)]
    if not edit.text.endswith("\n"):
        raw[-1] = edit.lines[-1].encode()
    mark = data.draw(st.sampled_from([b"", b"\xef\xbb\xbf"]), "byte-order mark")
    with TemporaryDirectory() as folder:
        (Path(folder) / "a.txt").write_bytes(mark + b"".join(raw))
        changes = written(edit, form)
        assume(changes is not None and edit.places == 1 and "".join(edit.old).strip())
        assert changes is not None
        try:
            after = plan_changes(Tree(Path(folder)), changes)[0].after
        except PlanRefused:
            assert has_twin(edit) or loses_indentation(edit)
            return
    assert after is not None
    sites = alike(edit) if form == "blocks" else [(edit.first, edit.end)]
    assert any(is_made(edit, after, mark, raw, *site) for site in sites)


def ends_blank(edit: Drawn) -> bool:
    """The last line of its old or of its new text is blank."""
    hunk = edit.hunk()
    return any(lines and not lines[-1].strip() for lines in (hunk.old, hunk.new))


def alike(edit: Drawn) -> list[tuple[int, int]]:
    """The ranges of lines that may be the ones that go, by the two texts of a block alone: of equal neighbours either,
    if nothing comes instead."""
    size, gone = edit.end - edit.first, [*edit.lines[: edit.first], *edit.lines[edit.end :]]
    starts = [edit.first] if edit.new else range(edit.start, edit.stop - size + 1)
    return [(at, at + size) for at in starts if edit.new or edit.lines[:at] + edit.lines[at + size :] == gone]


def is_made(edit: Drawn, after: bytes, mark: bytes, raw: list[bytes], first: int, end: int) -> bool:
    """All bytes before and behind these lines are as they were, and the new lines stand between."""
    before, behind = mark + b"".join(raw[:first]), b"".join(raw[end:])
    if end == len(raw) and not edit.text.endswith("\n"):
        before = before.removesuffix(b"\n").removesuffix(
            b"\r"
        )  # without a line end, the last line gains or loses one
    lines = lines_of(
        after[len(before) : len(after) - len(behind)].decode().replace("\r\n", "\n").lstrip("\n")
    )
    same = after.startswith(before) and after.endswith(behind)
    return same and [line for line in lines if line] == list(edit.new)


def loses_indentation(edit: Drawn) -> bool:
    """Its first new line, blank ones apart, stands at the margin, in the place of one that does not, nor does any
    other old one: on real hunks that is a slip."""
    replaces = not "".join(edit.old[: edit.before]).strip() and edit.end > edit.first
    indented = all(line[:1].isspace() for line in edit.old if line.strip())
    first = next((line for line in edit.new if line.strip()), " ")
    return replaces and indented and not first[:1].isspace()


def has_twin(edit: Drawn) -> bool:
    """But for blank lines and indentation the old lines stand there again: models drop those."""
    wanted = [line.strip() for line in edit.old if line.strip()]
    lines = [line.strip() for line in edit.lines if line.strip()]
    return sum(lines[i : i + len(wanted)] == wanted for i in range(len(lines))) > 1


def written(edit: Drawn, form: str) -> list[FileChange] | None:
    """The edit as text, read again; None if the format cannot say it."""
    try:
        if form == "blocks":
            return parse_edits(render_blocks([Update(path="a.txt", edits=(edit.block(),))]))
        hunk = replace(edit.hunk(), appends=form == "patch")
        return parse_edits(
            (render_patch if form == "patch" else render_diff)([Update(path="a.txt", edits=(hunk,))])
        )
    except ValueError:
        return None


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: slip.__name__)
@settings(max_examples=EXAMPLES)
@given(edits(least=2), st.booleans())
def test_a_slip_is_made_good_or_refused_never_wrong(slip: Slip, edit: Drawn, as_hunk: bool) -> None:
    # without an indented line, nothing tells how the file is indented
    assume(any(line.strip() and line.startswith(edit.unit) for line in edit.lines))
    # once its white space is lost, a blank line is like the blank line beside it
    assume(not any(line.isspace() for line in edit.lines))
    lines = slip(edit)
    try:
        result = edit_text(edit.text, [Hunk(lines=tuple(lines)) if as_hunk else as_block(lines)]).text
    except EditRefused:
        return
    assert result == edit.result


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: slip.__name__)
@settings(max_examples=EXAMPLES)
@given(edits(least=2), st.booleans(), st.integers(0, 100))
def test_no_rung_takes_a_site_where_there_are_two(slip: Slip, edit: Drawn, as_hunk: bool, where: int) -> None:
    twice, results = doubled(edit, where)
    lines: list[Line] = slip(edit)
    try:
        result = edit_text(twice, [Hunk(lines=tuple(lines)) if as_hunk else as_block(lines)]).text
    except EditRefused:
        return
    assert results == {result}  # the same at every site


def doubled(edit: Drawn, where: int) -> tuple[str, set[str]]:
    """The text with the edit's lines in it once more, and what the edit would give at each of their sites."""
    lines, old = edit.lines, edit.old
    outside = [i for i in range(len(lines) + 1) if i <= edit.start or i >= edit.stop]
    at = outside[where % len(outside)]
    twice = [*lines[:at], *old, *lines[at:]]
    assume(twice[-1].strip())  # a blank line at the end of a file without a final newline is that newline
    results = set()
    for site in range(len(twice) - len(old) + 1):
        if twice[site : site + len(old)] == old:
            first, end = site + edit.before, site + edit.before + edit.end - edit.first
            results.add(joined([*twice[:first], *edit.new, *twice[end:]], edit.text))
    return joined(twice, edit.text), results


@settings(max_examples=EXAMPLES)
@given(edits(repeats=False), st.data())
def test_edits_of_different_places_may_come_in_any_order(edit: Drawn, data: st.DataObject) -> None:
    lines = edit.lines
    free = [i for i in range(len(lines)) if not edit.start - 1 <= i <= edit.stop and lines[i].strip()]
    assume(free and "".join(edit.old).strip() and not loses_indentation(edit))
    other = data.draw(st.sampled_from(free))
    second = Replace(old=f"{lines[other]}\n", new=f"{lines[other]} changed\n", whole_lines=True)
    for first in (edit.block(), edit.hunk()):
        assert edit_text(edit.text, [first, second]).text == edit_text(edit.text, [second, first]).text


@settings(max_examples=EXAMPLES)
@given(edits(repeats=False, least=1))
def test_what_was_applied_is_not_applied_again(edit: Drawn) -> None:
    assume(
        edit.new and stands_once(edit, "part") and "".join(edit.old).strip() and not loses_indentation(edit)
    )
    once = edit_text(edit.text, [edit.block()]).text
    with pytest.raises(EditRefused):
        edit_text(once, [edit.block()])

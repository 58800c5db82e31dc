"""What is rendered in a format is read back as the same changes."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from tests.support.edit_rendering import render_blocks, render_diff, render_patch
from tools.edit.edit_model import (
    Create,
    Delete,
    Edit,
    FileChange,
    Hunk,
    Line,
    Lines,
    Op,
    Replace,
    Symbol,
    Update,
)
from tools.edit.formats import Form, parse_edits

MARKERS = [
    "<<<<<<< SEARCH",
    "<<<<<<< HEAD",
    "=======",
    "=====",
    ">>>>>>> REPLACE",
    ">>>>>>> main",
    "------- SEARCH",
    "+++++++ REPLACE",
    "\\=======",
    "*** Begin Patch",
    "*** End Patch",
    "*** Update File: a.py",
    "*** End of File",
    "*** Note: x",
    "@@",
    "@@ -1,2 +1,2 @@",
    "@@ def f():",
    "diff --git a/x b/x",
    "-- a/x.py",
    "++ b/x.py",
    "-- ",
    "- ",
    "--- a/x.py",
    "+++ b/x.py",
    "\\ No newline at end of file",
    "```",
    "~~~~",
    "# ...",
    "   12\ttext",
    "GIT binary patch",
    "EOF",
    "src/a.py",
    "2.43.0",
]
ODD = [
    "",
    " ",
    "\t",
    "  x  ",
    "x\r",
    "\r",
    "\f",
    "a\fb",
    "é…\u2028x",
    "\u0085",
    "\x0b",
    "\ufeff",
    "日本語",
    "\u00a0",
    "x\x00y",
]

ANY_LINE = st.one_of(
    st.sampled_from(MARKERS + ODD),
    st.text(alphabet=st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=12),
)
PLAIN_LINE = st.one_of(st.sampled_from(ODD), st.from_regex(r"[ a-z(){}=\"'#.,+-]{0,12}", fullmatch=True))
LINES = st.lists(ANY_LINE, max_size=6)
PATHS = st.sampled_from(
    ["a.py", "src/a.py", "a/a.py", "b/x.py", "My Folder/file one.txt", "Makefile", "ünï/日本.py", "dir.d/no_extension",
     "../up.py", ".github/workflows/ci.yml", "a b/c d.txt"]
)  # fmt: skip


def joined(lines: list[str]) -> str:
    return "".join(line + "\n" for line in lines)


WHOLE = LINES.map(joined)
REPLACES = st.builds(
    Replace, old=WHOLE.filter(lambda text: bool(text.strip())), new=WHOLE, whole_lines=st.just(True)
)
OPS = st.sampled_from([" ", "-", "+"])


@st.composite
def hunk_lines(draw: st.DrawFn) -> tuple[Line, ...]:
    lines = draw(st.lists(st.builds(Line, op=OPS, text=ANY_LINE), min_size=1, max_size=8))
    assume(any(line.op != " " for line in lines))
    return tuple(lines)


HEADS = st.lists(
    st.sampled_from(["class Cart:", "    def total(self):", "fn x() -> @T {", "# a"]), max_size=3
).map(tuple)
PATCH_HUNKS = st.builds(Hunk, lines=hunk_lines(), heads=HEADS, at_end=st.booleans(), appends=st.just(True))


@st.composite
def diff_hunks(draw: st.DrawFn) -> Hunk:
    lines = draw(hunk_lines())
    if draw(st.booleans()):
        return Hunk(lines=lines, heads=draw(HEADS))
    ends = draw(st.sampled_from(["", "", " ", "-", "+"]))
    return Hunk(lines=lines, start=draw(st.integers(1, 500)), counted=True, no_newline=ends)  # type: ignore[arg-type]


def changes(
    edits: st.SearchStrategy[Edit], *others: st.SearchStrategy[FileChange]
) -> st.SearchStrategy[list[FileChange]]:
    updates = st.builds(Update, path=PATHS, edits=st.lists(edits, min_size=1, max_size=3).map(tuple))
    return st.lists(st.one_of(updates, *others), min_size=1, max_size=4, unique_by=lambda change: change.path)


def rendered(
    render: Callable[[list[FileChange]], str], wanted: list[FileChange], unsayable: str
) -> str | None:
    """The text, or None when the format can't say it, for one of these reasons and no other."""
    try:
        text = render(wanted)
    except ValueError as error:
        if not re.search(unsayable, str(error)):
            raise
        event("can't be said")
        return None
    event("said")
    return text


def round_trip(text: str, wanted: list[FileChange], form: Form) -> None:
    assert parse_edits(text, form) == wanted
    assert parse_edits(text) == wanted


@pytest.mark.slow
@given(changes(REPLACES, st.builds(Create, path=PATHS, content=WHOLE)))
def test_blocks_are_read_back_as_they_were(wanted: list[FileChange]) -> None:
    text = rendered(render_blocks, wanted, "markers of every size|position")
    if text is not None:
        round_trip(text, wanted, "blocks")


@pytest.mark.slow
@given(
    changes(
        PATCH_HUNKS,
        st.builds(Create, path=PATHS, content=WHOLE),
        st.builds(Delete, path=PATHS),
        st.builds(
            Update,
            path=PATHS,
            edits=st.lists(PATCH_HUNKS, max_size=2).map(tuple),
            to=st.just("moved to/x.py"),
        ),
    )
)
def test_patches_are_read_back_as_they_were(wanted: list[FileChange]) -> None:
    text = rendered(render_patch, wanted, "read as a marker")
    if text is not None:
        round_trip(text, wanted, "patch")


REMOVED = st.lists(ANY_LINE, min_size=1, max_size=4).map(
    lambda lines: (Hunk(lines=tuple(Line("-", line) for line in lines), start=1, counted=True),)
)


@pytest.mark.slow
@given(
    changes(
        diff_hunks(),
        st.builds(
            Create,
            path=PATHS,
            content=st.one_of(WHOLE, LINES.map("\n".join)),
            mode=st.sampled_from([None, 0o755]),
        ),
        st.builds(Delete, path=PATHS, hunks=st.one_of(st.just(()), REMOVED)),
        st.builds(
            Update,
            path=PATHS,
            edits=st.lists(diff_hunks(), max_size=2).map(tuple),
            to=st.sampled_from(["moved.py", "moved to/x.py"]),
            mode=st.sampled_from([None, 0o644, 0o755]),
        ),
    )
)
def test_diffs_are_read_back_as_they_were(wanted: list[FileChange]) -> None:
    text = rendered(render_diff, wanted, "without a newline|header of a file")
    if text is not None:
        round_trip(text, wanted, "diff")


@pytest.mark.slow
@given(st.lists(PLAIN_LINE, min_size=1, max_size=6), st.lists(PLAIN_LINE, max_size=6), PATHS)
def test_every_format_can_say_the_replacement_of_ordinary_lines(
    old: list[str], new: list[str], path: str
) -> None:
    assume(any(line.strip() for line in old))
    lines = tuple([Line("-", line) for line in old] + [Line("+", line) for line in new])
    blocks: list[FileChange] = [
        Update(path=path, edits=(Replace(old=joined(old), new=joined(new), whole_lines=True),))
    ]
    patch: list[FileChange] = [Update(path=path, edits=(Hunk(lines=lines, appends=True),))]
    diff: list[FileChange] = [Update(path=path, edits=(Hunk(lines=lines, start=7, counted=True),))]
    round_trip(render_blocks(blocks), blocks, "blocks")
    round_trip(render_patch(patch), patch, "patch")
    round_trip(render_diff(diff), diff, "diff")


@pytest.mark.slow
@given(
    PATHS,
    st.sampled_from(
        ['q"uote.py', "back\\slash.py", "new\nline.py", "tab\there", " ends with space ", "é\x7f"]
    ),
)
def test_a_diff_can_name_any_file(old: str, new: str) -> None:
    wanted: list[FileChange] = [
        Update(path=old, edits=(), to=new),
        Delete(path=new),
        Create(path=new, content="x\n"),
    ]
    round_trip(render_diff(wanted), wanted, "diff")


HUNK = Hunk(lines=(Line("-", "a"), Line("+", "b")))
PATCH_HUNK = Hunk(lines=(Line("-", "a"), Line("+", "b")), appends=True)
COUNTED = Hunk(lines=(Line("-", "a"), Line("+", "b")), start=1, counted=True)


EVERY_SIZE = "".join("=" * size + "\n" for size in range(5, 10))


def hunk(*lines: tuple[Op, str]) -> Hunk:
    return Hunk(lines=tuple(Line(*line) for line in lines), appends=True)


@pytest.mark.parametrize(
    "change",
    [
        Delete(path="a.py"),
        Update(path="a.py", edits=(HUNK,)),
        Update(path="a.py", edits=(Lines(first=1, last=2, new="x"),)),
        Update(path="a.py", edits=(Symbol(name="f", new="x"),)),
        Update(path="a.py", edits=(Replace(old="a", new="b"),)),
        Update(path="a.py", edits=(Replace(old="a\n", new="b\n", whole_lines=True, all=True),)),
        Update(path="a.py", edits=(Replace(old="a\n", new="b", whole_lines=True),)),
        Update(path="a.py", edits=(Replace(old="\n", new="b\n", whole_lines=True),)),
        Update(path="a.py", edits=(Replace(old=":start_line:3\n", new="b\n", whole_lines=True),)),
        Update(path="a.py", edits=(Replace(old=EVERY_SIZE, new="", whole_lines=True),)),
        Update(path="a.py", edits=(Replace(old="a\n", new="b\n", whole_lines=True),), to="b.py"),
        Update(path="a.py", edits=(Replace(old="a\n", new="b\n", whole_lines=True),), mode=0o755),
        Update(path="not a name", edits=(Replace(old="a\n", new="b\n", whole_lines=True),)),
        Create(path="a.py", content="no newline"),
        Create(path="a.py", content="", mode=0o755),
    ],
)  # fmt: skip
def test_blocks_refuse_what_they_cannot_say(change: FileChange) -> None:
    with pytest.raises(ValueError, match=r"."):
        render_blocks([change])


@pytest.mark.parametrize(
    "change",
    [
        Delete(path="a.py", hunks=(PATCH_HUNK,)),
        Delete(path=" a.py"),
        Delete(path="`a.py`"),
        Delete(path="a\nb"),
        Create(path="a.py", content="no newline"),
        Create(path="a.py", content="", mode=0o755),
        Update(path="a.py", edits=()),
        Update(path="a.py", edits=(HUNK,)),
        Update(path="a.py", edits=(COUNTED,)),
        Update(path="a.py", edits=(Replace(old="a", new="b"),)),
        Update(path="a.py", edits=(hunk((" ", "a")),)),
        Update(path="a.py", edits=(hunk((" ", "*** End Patch"), ("-", "x")),)),
        Update(path="a.py", edits=(hunk(("+", "two\nlines")),)),
        Update(path="a.py", edits=(Hunk(lines=PATCH_HUNK.lines, heads=("-1,2 +1,2 @@",), appends=True),)),
        Update(path="a.py", edits=(Hunk(lines=PATCH_HUNK.lines, heads=("trailing ",), appends=True),)),
        Update(path="a.py", edits=(Hunk(lines=PATCH_HUNK.lines, heads=("...",), appends=True),)),
        Update(path="a.py", edits=(Hunk(lines=PATCH_HUNK.lines, no_newline="+", appends=True),)),
    ],
)
def test_a_patch_refuses_what_it_cannot_say(change: FileChange) -> None:
    with pytest.raises(ValueError, match=r"."):
        render_patch([change])


@pytest.mark.parametrize(
    "change",
    [
        Update(path="a.py", edits=()),
        Update(path="", edits=(HUNK,)),
        Update(path="dev/null", edits=(HUNK,)),
        Update(path="a.py", edits=(PATCH_HUNK,)),
        Update(path="a.py", edits=(Replace(old="a", new="b"),)),
        Update(path="a.py", edits=(Hunk(lines=HUNK.lines, start=3),)),
        Update(path="a.py", edits=(Hunk(lines=HUNK.lines, start=3, counted=True, heads=("x",)),)),
        Update(path="a.py", edits=(Hunk(lines=HUNK.lines, at_end=True),)),
        Update(path="a.py", edits=(Hunk(lines=(Line(" ", "a"), Line("+", "b")), no_newline="-"),)),
        Update(path="a.py", edits=(Hunk(lines=(Line("-", "-- a"), Line("+", "++ b"))),)),
        Update(path="a.py", edits=(HUNK,), mode=0o777),
        Create(path="a.py", content="", mode=0o4755),
        Delete(path="a.py", hunks=(HUNK,)),
    ],
)
def test_a_diff_refuses_what_it_cannot_say(change: FileChange) -> None:
    with pytest.raises(ValueError, match=r"."):
        render_diff([change])


def test_two_updates_of_one_file_are_not_rendered_as_one() -> None:
    block = Replace(old="a\n", new="b\n", whole_lines=True)
    for render, edit in ((render_blocks, block), (render_patch, PATCH_HUNK), (render_diff, HUNK)):
        with pytest.raises(ValueError, match="two updates"):
            render([Update(path="a.py", edits=(edit,)), Update(path="a.py", edits=(edit,))])

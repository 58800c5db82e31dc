"""Search/replace blocks as models send them: names, markers, fences, headers."""

from __future__ import annotations

import pytest

from tools.edit.edit_model import Create, FileChange, Replace, Update
from tools.edit.formats import parse_edits

BLOCK = "<<<<<<< SEARCH\na = 1\n=======\na = 2\n>>>>>>> REPLACE"


def update(path: str, *pairs: tuple[str, str]) -> Update:
    return Update(path=path, edits=tuple(Replace(old=old, new=new, whole_lines=True) for old, new in pairs))


CHANGED = ("a = 1\n", "a = 2\n")


@pytest.mark.parametrize(
    "text",
    [
        f"src/a.py\n{BLOCK}\n",
        f"src/a.py\n\n{BLOCK}",
        f"src/a.py\n```python\n{BLOCK}\n```\n",
        f"```python\nsrc/a.py\n{BLOCK}\n```\n",
        f"```python src/a.py\n{BLOCK}\n```\n",
        f"```src/a.py\n{BLOCK}\n```\n",
        f"```python:src/a.py\n{BLOCK}\n```\n",
        f'```python title="src/a.py"\n{BLOCK}\n```\n',
        f"~~~\nsrc/a.py\n{BLOCK}\n~~~\n",
        f"````diff\nsrc/a.py\n{BLOCK}\n````\n",
        f"`src/a.py`\n{BLOCK}\n",
        f"**src/a.py**\n{BLOCK}\n",
        f"**`src/a.py`**:\n{BLOCK}\n",
        f"### src/a.py\n{BLOCK}\n",
        f"### `src/a.py`\n```python\n{BLOCK}\n```",
        f"1. **src/a.py**\n{BLOCK}\n",
        f"- src/a.py:\n{BLOCK}\n",
        f"File: src/a.py\n{BLOCK}\n",
        f"File path: `src/a.py`\n{BLOCK}\n",
        f"Filename: src/a.py\n{BLOCK}\n",
        f"path: src/a.py\n{BLOCK}\n",
        f"path:\nsrc/a.py\n{BLOCK}\n",
        f"src/a.py (modified)\n{BLOCK}\n",
        f'"src/a.py"\n{BLOCK}\n',
        f"# src/a.py\n{BLOCK}\n",
        f"// src/a.py\n{BLOCK}\n",
        f"<!-- src/a.py -->\n{BLOCK}\n",
        f"<path>src/a.py</path>\n<diff>\n{BLOCK}\n</diff>\n",
        f"<file_path>src/a.py</file_path>\n<content><![CDATA[\n{BLOCK}\n]]></content>\n",
        f"<path>src/a.py</path>\n<diff><![CDATA[{BLOCK}\n]]></diff>\n",
        f"<source>src/a.py\n{BLOCK}\n</source>\n",
        f"In `src/a.py` I change the number:\n\n{BLOCK}\n\nThat is all.",
        f"Here is it.\n\nsrc/a.py\n{BLOCK}\n\nRun the tests with `make check`.",
        BLOCK.replace("SEARCH", "SEARCH src/a.py"),
        "\n".join("  " + line if line[0] in "<=>" else line for line in f"src/a.py\n{BLOCK}".split("\n")),
        f"src/a.py\n{BLOCK}\n".replace("\n", "\r\n"),
        f"\ufeffsrc/a.py\n{BLOCK}\n",
        f"src/a.py\n{BLOCK} \n```",
        f"src/a.py\n{BLOCK}```",
    ],
)
def test_a_name_is_found_however_it_is_dressed(text: str) -> None:
    assert parse_edits(text) == [update("src/a.py", CHANGED)]


@pytest.mark.parametrize("path", ["My Folder/some file.txt", "Makefile", ".env", "a b/c d.py", "ünï/日本.py"])
def test_a_name_may_have_spaces_and_no_extension(path: str) -> None:
    assert parse_edits(f"`{path}`\n{BLOCK}\n") == [update(path, CHANGED)]


@pytest.mark.parametrize(
    ("begin", "divider", "end"),
    [
        ("<<<<< SEARCH", "=====", ">>>>> REPLACE"),
        ("<<<<<<<<< SEARCH", "=========", ">>>>>>>>> REPLACE"),
        ("<<<<<<< SEARCH", "======", ">>>>>>>> REPLACE"),
        ("<<<<<<<SEARCH", "=======", ">>>>>>>REPLACE"),
        ("<<<<<<< SEARCH>", "=======", ">>>>>>> REPLACE>"),
        ("<<<<<<< search", "=======", ">>>>>>> replace"),
        ("<<<<<<< ORIGINAL", "=======", ">>>>>>> UPDATED"),
        ("<<<<<<< HEAD", "=======", ">>>>>>> updated"),
        ("------- SEARCH", "=======", "+++++++ REPLACE"),
        ("<<<<<<< SEARCH", "=======", "+++++++ REPLACE"),
        ("<<<<<<< SEARCH", "=======  ", ">>>>>>> REPLACE  "),
        ("<<<<<<< SEARCH", "=======", ">>>>>>>"),
    ],
)
def test_markers_may_vary(begin: str, divider: str, end: str) -> None:
    assert parse_edits(f"a.py\n{begin}\na = 1\n{divider}\na = 2\n{end}\n") == [update("a.py", CHANGED)]


def test_blocks_of_one_file_are_one_update_in_their_order() -> None:
    second = "<<<<<<< SEARCH\nb\n=======\nc\n>>>>>>> REPLACE"
    text = f"a.py\n{BLOCK}\n\nAnd:\n\n{second}\n\nb.py\n{second}\n\na.py\n{second}\n"
    assert parse_edits(text) == [
        update("a.py", CHANGED, ("b\n", "c\n"), ("b\n", "c\n")),
        update("b.py", ("b\n", "c\n")),
    ]


def test_an_empty_search_creates_a_file() -> None:
    assert parse_edits("new.py\n<<<<<<< SEARCH\n=======\nx\n>>>>>>> REPLACE") == [
        Create(path="new.py", content="x\n")
    ]
    assert parse_edits("new.py\n<<<<<<< SEARCH\n\n=======\nx\n\n>>>>>>> REPLACE") == [
        Create(path="new.py", content="x\n\n")
    ]
    assert parse_edits("new.py\n<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE") == [
        Create(path="new.py", content="")
    ]


def test_a_new_file_in_an_indented_block_is_not_indented() -> None:
    text = "1. The new one:\n   new.py\n   <<<<<<< SEARCH\n   =======\n   def f():\n\n       pass\n   >>>>>>> REPLACE\n"
    assert parse_edits(text) == [Create(path="new.py", content="def f():\n\n    pass\n")]


def test_nothing_to_put_there_removes_the_lines() -> None:
    assert parse_edits("a.py\n<<<<<<< SEARCH\na\n=======\n>>>>>>> REPLACE") == [update("a.py", ("a\n", ""))]
    assert parse_edits("a.py\n<<<<<<< SEARCH\na\n=======\n\n>>>>>>> REPLACE") == [
        update("a.py", ("a\n", "\n"))
    ]


@pytest.mark.parametrize(
    ("header", "start"),
    [
        (":start_line:12\n-------\n", ""),
        (":start_line:1\n:end_line:3\n-------\n", ""),
        (":start_line: 7\n", ""),
    ],
)
def test_a_position_is_dropped(header: str, start: str) -> None:
    text = f"a.py\n<<<<<<< SEARCH\n{header}a = 1\n=======\na = 2\n>>>>>>> REPLACE"
    assert parse_edits(text) == [update("a.py", CHANGED)]


def test_a_position_is_dropped_from_both_parts() -> None:
    head = ":start_line:5\n-------\n"
    text = f"a.py\n<<<<<<< SEARCH\n{head}a = 1\n=======\n{head}a = 2\n>>>>>>> REPLACE"
    assert parse_edits(text) == [update("a.py", CHANGED)]


def test_text_right_after_the_dashes_of_a_position_is_its_first_line() -> None:
    text = "a.py\n<<<<<<< SEARCH\n:start_line:7\n-------a = 1\n=======\na = 2\n>>>>>>> REPLACE"
    assert parse_edits(text) == [update("a.py", CHANGED)]


def test_dashes_without_a_position_are_text() -> None:
    text = "a.md\n<<<<<<< SEARCH\n-------\na\n=======\nb\n>>>>>>> REPLACE"
    assert parse_edits(text) == [update("a.md", ("-------\na\n", "b\n"))]


def test_a_merge_conflict_can_be_searched_for() -> None:
    conflict = "<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> feature\n"
    text = f"a.py\n<<<<<<< SEARCH\n{conflict}=======\ntwo\n>>>>>>> REPLACE"
    assert parse_edits(text) == [update("a.py", (conflict, "two\n"))]


def test_other_signs_let_a_block_hold_lines_that_look_like_markers() -> None:
    old, new = "Title\n=======\n", "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n"
    text = f"a.rst\n<<<<<<<<< SEARCH\n{old}=========\n{new}>>>>>>>>> REPLACE"
    assert parse_edits(text) == [update("a.rst", (old, new))]


def test_a_backslash_makes_a_marker_text() -> None:
    text = "a.rst\n<<<<<<< SEARCH\nx\n\\=======\n=======\n\\>>>>>>> REPLACE\n\\other\n>>>>>>> REPLACE"
    assert parse_edits(text) == [update("a.rst", ("x\n=======\n", ">>>>>>> REPLACE\n\\other\n"))]


def test_an_underline_as_long_as_its_heading_is_no_divider() -> None:
    text = "a.rst\n<<<<<<< SEARCH\nInstall\n=======\nold\n=======\nInstall\n=======\nnew\n>>>>>>> REPLACE"
    assert parse_edits(text) == [update("a.rst", ("Install\n=======\nold\n", "Install\n=======\nnew\n"))]


@pytest.mark.parametrize(("part", "new"), [("a = 2\n", "a = 2\n"), ("", "")])
def test_a_second_divider_before_the_end_is_a_slip(part: str, new: str) -> None:
    text = f"a.py\n<<<<<<< SEARCH\na = 1\n=======\n{part}=======\n>>>>>>> REPLACE"
    assert parse_edits(text) == [update("a.py", ("a = 1\n", new))]


def test_a_language_is_no_name() -> None:
    text = f"Dockerfile\n```dockerfile\n{BLOCK}\n```\n"
    assert parse_edits(text) == [update("Dockerfile", CHANGED)]


def test_the_lines_of_a_block_keep_their_white_space() -> None:
    old, new = "\tx  \n\n   \n", "  y\f\nz\r\n"
    wanted: list[FileChange] = [update("a.py", (old, new))]
    assert parse_edits(f"a.py\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n") == wanted

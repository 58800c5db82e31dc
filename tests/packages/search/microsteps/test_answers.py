"""Answers that count, those that do not, and which are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from packages.search.microsteps.answers import RedFlag, compute_key, read_answer
from sandbox.fs.workspace_tree import Tree

BEFORE = b"import six\r\nimport os\r\n\r\n\r\ndef f(a):\r\n    return os.path\r\n"
BLOCK = "<<<<<<< SEARCH\nimport six\n=======\n>>>>>>> REPLACE"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    (tmp_path / "m.py").write_bytes(BEFORE)
    return Tree(tmp_path)


def test_each_form_gives_the_file_with_its_line_endings(tree: Tree) -> None:
    wanted = BEFORE.removeprefix(b"import six\r\n")
    whole = wanted.decode().replace("\r\n", "\n")
    answers = [
        read_answer(tree, "m.py", BEFORE, text) for text in (BLOCK, f"Here:\n\n```python\n{whole}```\n")
    ]
    assert [each.content for each in answers] == [wanted, wanted]
    assert len({each.key for each in answers}) == 1
    assert read_answer(tree, "m.py", BEFORE, "`UNCHANGED`").content == BEFORE


def test_layout_makes_no_other_answer_in_python_and_comments_do_where_nothing_else_changes() -> None:
    before = b"x = 1\n"
    assert compute_key("m.py", before, b"x = 2\n") == compute_key("m.py", before, b"x = (2)  # two\n")
    assert compute_key("m.py", before, b"# one\nx = 1\n") != compute_key("m.py", before, before)
    assert compute_key("m.txt", before, b"x = 2\n") != compute_key("m.txt", before, b"x = (2)\n")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("I would remove the import.", "neither edit blocks nor one file"),
        ("```\na\n```\n```\nb\n```", "neither edit blocks nor one file"),
        (BLOCK.replace("six", "seven"), "does not fit"),
        (BLOCK.replace("=======\n", "=======\nimport six\n"), "does not fit|changes nothing"),
        (BLOCK.replace("=======\n", "=======\nimport (\n"), "syntax error"),
        (f"{'Because of this and that. ' * 40}\n{BLOCK}", "explains at length"),
        ("x" * 10_000, "too long"),
        ("", "neither edit blocks nor one file"),
    ],
)
def test_a_red_flag_is_raised(tree: Tree, text: str, why: str) -> None:
    with pytest.raises(RedFlag, match=why):
        read_answer(tree, "m.py", BEFORE, text)

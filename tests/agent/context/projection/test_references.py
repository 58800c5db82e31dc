"""What is found faster than by its pattern is what the pattern finds."""

from __future__ import annotations

import random

import pytest

from agent.context.projection import references

PIECES = (
    *(
        "def",
        "class",
        "fn",
        "type",
        "struct",
        "module",
        "pub ",
        "async ",
        "12:",
        "12|",
        "x",
        "_y",
        "é",
        "x" * 150,
    ),
    *(
        "a.py",
        "b/c.js",
        "/",
        ".",
        "-",
        "+",
        ":",
        "(",
        " ",
        " ",
        "\t",
        "\n",
        "\n\n",
        "\r",
        "\x0b",
        "\x1c",
        "\u2028",
    ),
    *("Error", "ValueError:", "E  ", "FAILED", "error:", "error[E1]:", "panicked at", "Warning("),
)


@pytest.mark.slow
def test_only_lines_and_words_with_a_cue_need_to_be_looked_at() -> None:
    choose = random.Random(7)
    found = 0
    for _ in range(3_000):
        text = "".join(choose.choice(PIECES) for _ in range(choose.randint(1, 30)))
        paths = dict.fromkeys(references._PATH.findall(text))
        errors = dict.fromkeys(each.strip() for each in references._ERROR.findall(text))
        defined = dict.fromkeys(each.rstrip(" {:").strip() for each in references._DEFINED.findall(text))
        assert list(references.find_paths(text)) == list(paths)
        assert list(references.find_errors(text)) == list(errors)
        assert list(references.find_definitions(text)) == list(defined)
        found += bool(paths) + bool(errors) + bool(defined)
    assert found > 1_000

"""Tables of the commands: drawn on a terminal, plain lines in a pipe and in a narrow window."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli.output.tables import Column, draw_table
from tests.support import cli
from tests.support.terminal import Terminal

COLUMNS = (Column(title="name"), Column(title="n", right=True), Column(title="about", wraps=True))
ROWS = [("one", "1", "a text that is long enough to be wrapped in its cell"), ("two", "200", "short")]


def test_cells_are_wrapped_and_numbers_end_below_each_other() -> None:
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in draw_table(COLUMNS, ROWS, 40, unicode=True)]
    assert max(map(len, lines)) <= 40
    assert [line.split() for line in lines if line.strip("─ ")] == [
        ["name", "n", "about"],
        ["one", "1", *["a", "text", "that", "is", "long", "enough"]],
        ["to", "be", "wrapped", "in", "its", "cell"],
        ["two", "200", "short"],
    ]
    assert lines[2].index("1") == lines[-1].index("200") + 2


def test_without_unicode_lines_are_ascii() -> None:
    assert all(line.isascii() for line in draw_table(COLUMNS, ROWS, 60, unicode=False))


@pytest.mark.slow
def test_a_terminal_gets_a_table_where_a_pipe_gets_lines(tmp_path: Path) -> None:
    plain = cli.run("strategies", cwd=tmp_path).out
    assert plain.startswith("single")
    shown = {}
    for columns in (120, 60):
        argv = [*cli.PATCHWRIGHT, "strategies"]
        with Terminal(argv, cwd=tmp_path, env=cli.environment(), columns=columns, rows=60) as terminal:
            terminal.wait_for_end()
            shown[columns] = terminal.text
    assert re.search(r"strategy +does +costs +pays\n─+\nsingle +one", shown[120])
    assert "  costs: " in shown[60], "plain lines"

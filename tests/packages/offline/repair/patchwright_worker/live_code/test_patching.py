"""New code in functions that exist already: what is changed, and where the rest of the file stands then."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from packages.offline.repair.patchwright_worker.live_code.code_patching import NeedsImport, Swapper

TEXT = dedent("""\
    LIMIT = 3


    def first(n):
        return n + 1


    def counted(function):
        def inner(n):
            return function(n) + LIMIT

        return inner


    @counted
    def second(n):
        return n * 2


    class Box:
        def size(self):
            return [each for each in range(LIMIT)]
    """)
NAME = "patched_program"


@pytest.fixture(name="program")
def _program(tmp_path: Path) -> Iterator[Any]:
    path = tmp_path / f"{NAME}.py"
    path.write_text(TEXT, "utf-8")
    spec = importlib.util.spec_from_file_location(NAME, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[NAME] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules[NAME]


def swap(program: Any, old: str, new: str) -> None:
    path = Path(program.__file__)
    Swapper(str(path.parent)).swap_functions(str(path), TEXT, TEXT.replace(old, new), set())


def test_what_stands_behind_a_change_of_several_lines_counts_in_the_new_text(program: Any) -> None:
    swap(program, "    return n + 1", "    if n:\n        return n + 2\n    return n")
    assert program.first(1) == 3
    lines = {
        "first": 4,
        "counted": 10,
        "second": 11,  # what the decorator made of it
        "size": 23,
    }
    found = (program.first, program.counted, program.second, program.Box.size)
    assert dict(zip(lines, [each.__code__.co_firstlineno for each in found], strict=True)) == lines
    assert program.second(2) == 7
    assert program.Box().size() == [0, 1, 2]


@pytest.mark.parametrize(("then", "now"), [("20", "22"), ("1", "2")])
def test_a_value_of_a_class_that_changes_with_its_line_is_seen(program: Any, then: str, now: str) -> None:
    """The class begins on line 20, and on line 22 after the change: its value must not pass for its line."""
    old = TEXT.replace("class Box:\n", f"class Box:\n    kept = {then}\n")
    new = old.replace("    return n + 1", "    if n:\n        return n + 2\n    return n")
    swapper = Swapper(str(Path(program.__file__).parent))
    with pytest.raises(NeedsImport, match="class level"):
        swapper.swap_functions(program.__file__, old, new.replace(f"kept = {then}", f"kept = {now}"), set())


def test_a_change_of_one_line_leaves_the_others_alone(program: Any) -> None:
    kept = program.counted.__code__
    swap(program, "return n + 1", "return n + 2")
    assert program.first(1) == 3
    assert program.counted.__code__ is kept


def test_what_ran_while_the_module_was_imported_cannot_be_exchanged(program: Any) -> None:
    with pytest.raises(NeedsImport):
        swap(program, "LIMIT = 3", "LIMIT = 4")

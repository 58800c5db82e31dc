"""Constants, class attributes and defaults changed where their module stands, and put back."""

from __future__ import annotations

import importlib.util
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from packages.offline.repair.patchwright_worker.live_code.function_compiler import Outside, Program
from packages.offline.repair.patchwright_worker.live_code.statement_execution import (
    InPlaceChange,
    NotPlaceable,
)

TEXT = dedent("""\
    import re

    LIMIT = 10
    KINDS = {"red", "blue"}
    PATTERN = r"a+"
    MATCHER = re.compile(PATTERN)


    def double(n, factor=2):
        return n * factor


    class Box:
        SIZE = 3
        AREA = SIZE * SIZE

        class Lid:
            colour = "red"

        @staticmethod
        def made(size=SIZE):
            return size
    """)
MODULES = ("placed_one", "placed_other")


@pytest.fixture(name="module")
def _module(tmp_path: Path) -> Iterator[types.ModuleType]:
    for name, text in zip(MODULES, (TEXT, "from placed_one import KINDS, LIMIT\n"), strict=True):
        path = tmp_path / f"{name}.py"
        path.write_text(text, "utf-8")
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    yield sys.modules[MODULES[0]]
    for name in MODULES:
        del sys.modules[name]


def placed(module: types.ModuleType, old: str, new: str) -> InPlaceChange:
    assert module.__file__ is not None
    start = TEXT.index(old)
    return InPlaceChange(Program(module.__file__, TEXT), [[start, start + len(old), new]])


@pytest.mark.parametrize(
    ("old", "new", "look", "before", "after"),
    [
        ("10", "11", "module.LIMIT", "10", "11"),
        ('"blue"', '"blue", "green"', "sorted(other.KINDS)", "['blue', 'red']", "['blue', 'green', 'red']"),
        ('r"a+"', 'r"b+"', "bool(module.MATCHER.match('b'))", "False", "True"),
        ("factor=2", "factor=3", "module.double(2)", "4", "6"),
        ("SIZE = 3", "SIZE = 4", "module.Box.AREA", "9", "16"),
        ('colour = "red"', 'colour = "blue"', "module.Box.Lid.colour", "'red'", "'blue'"),
        ("size=SIZE", "size=SIZE + 1", "module.Box.made()", "3", "4"),
    ],
)
def test_a_value_is_another_one_as_long_as_it_is_placed(
    module: types.ModuleType, old: str, new: str, look: str, before: str, after: str
) -> None:
    names = {"module": module, "other": sys.modules[MODULES[1]]}
    assert repr(eval(look, names)) == before
    with placed(module, old, new):
        assert repr(eval(look, names)) == after
    assert repr(eval(look, names)) == before


@pytest.mark.parametrize(
    ("old", "new"), [("import re", "import os"), ("LIMIT = 10\n", "LIMIT = 10\nMORE = 1\n")]
)
def test_what_needs_a_new_import_is_said_to(module: types.ModuleType, old: str, new: str) -> None:
    with pytest.raises((NotPlaceable, Outside)):
        placed(module, old, new)


def test_a_statement_that_fails_leaves_everything_as_it_was(module: types.ModuleType) -> None:
    with pytest.raises(NotPlaceable), placed(module, 'PATTERN = r"a+"', 'PATTERN = r"(a"'):
        pytest.fail("the matcher cannot be compiled")
    assert module.PATTERN == "a+"

"""Long texts are parsed in pieces: the tree is the same, and other threads run meanwhile."""

from __future__ import annotations

import threading
import time

import pytest

from tools.code import languages
from tools.code.languages import LANGUAGES, Language, parse_text
from tools.code.syntax import find_certain_problems, find_new_problems

UNITS = {
    "python": "def name_{}(a, b):\n    return [é for é in range(a) if é % b]\n\n\n",
    "javascript": "function name_{}(a, b) {{\n  return a.map((é) => é + b[0]);\n}}\n",
    "go": "func name_{}(a int, b int) int {{\n\treturn a + b\n}}\n",
    "json": '{{"name_{}": [1, 2, "é"]}}\n',
}


def build(name: str, size: int) -> str:
    unit = UNITS[name]
    return "".join(unit.format(n) for n in range(size // len(unit)))


def get(name: str) -> Language:
    return next(each for each in LANGUAGES if each.name == name)


@pytest.mark.parametrize("ending", ["", "def (((\n", "}} ]] é"])
@pytest.mark.parametrize("name", UNITS)
def test_a_tree_in_pieces_is_that_of_the_whole(
    name: str, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = build(name, 40_000) + ending
    edited = text.replace("name_7", "other", 1)
    whole, expected = (parse_text(get(name), each) for each in (text, edited))
    monkeypatch.setattr(languages, "LONG", 1000)
    monkeypatch.setattr(languages, "_trees", languages._Trees())
    pieces = parse_text(get(name), text)
    assert str(pieces.root_node) == str(whole.root_node)
    assert [each.text for each in pieces.root_node.children] == [
        each.text for each in whole.root_node.children
    ]
    assert str(parse_text(get(name), edited, before=text).root_node) == str(expected.root_node)


@pytest.mark.slow
def test_other_threads_run_while_a_long_text_is_parsed() -> None:
    text = build("python", 1_900_000)
    turns = 0
    done = threading.Event()

    def count() -> None:
        nonlocal turns
        while not done.is_set():
            time.sleep(0.001)
            turns += 1

    other = threading.Thread(target=count)
    other.start()
    time.sleep(0.05)
    before = turns
    parse_text(get("python"), text)
    found = turns - before
    done.set()
    other.join()
    assert found > 10  # without pieces: one, or none


def test_errors_of_a_long_python_file_are_found_without_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    text = build("python", 300_000)

    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError("it was compiled")

    monkeypatch.setattr("tools.code.syntax.python_syntax._find_first_error", refuse)
    broken = text + "x = (1,\n"
    assert find_new_problems("a.py", None, broken)
    assert find_certain_problems("a.py", None, broken)
    assert not find_new_problems("a.py", None, text)
    assert not find_certain_problems("a.py", None, text)

"""A local model fills in suspicious statements; the tests judge what it writes."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent.model.infill.fill_forms import Filling
from agent.model.infill.filler import LONGEST_EXTRA, is_local
from packages.offline.infill.filled_search import read_test_file
from packages.offline.infill.filled_statements import (
    MOST_PLACES,
    Gap,
    cut_filling,
    find_block_gap,
    find_gap_before,
    find_part_gap,
    find_value_gap,
    find_whole_gap,
    is_placeholder,
    select_places,
)
from packages.offline.repair.localize.statement_ranking import Suspect
from packages.offline.repair.templates import Source
from tests.support.cli import run
from tests.support.loopback import Loopback
from tests.support.repo import Repo

CODE = """def slug(text):
    words = text.split()
    return words
"""
TESTS = """from titles import slug


def test_slug():
    assert slug("A Fine Day") == "a-fine-day"
    assert slug("x") == "x"
"""
MENDED = 'return "-".join(words).lower()'


def make_answer(text: str, *scores: float) -> Mapping[str, Any]:
    return {"content": text, "completion_probabilities": [{"logprob": each} for each in scores]}


def test_only_servers_on_this_machine_are_asked() -> None:
    def make(base: str) -> object:
        address = SimpleNamespace(base=base, key="", model="coder")
        return SimpleNamespace(inner=SimpleNamespace(inner=None, address=address))

    assert is_local(make("http://127.0.0.1:8080/v1"))
    assert is_local(make("http://localhost:8080/v1"))
    assert not is_local(make("https://api.example.org/v1"))
    assert not is_local(make("http://127.0.0.1.example.org/v1"))
    assert not is_local(SimpleNamespace())


PROGRAM = """\
def f(items, limit):
    total = 0
    for item in items:
        if item > limit: total += 1
        elif item:
            total += item
    with open(limit) as file:
        print(file)
    return total
"""


STUBS = """\
class Empty:
    pass

def stub(x):
    pass

def later(x):
    raise NotImplementedError("later")

def left_out(x):
    try:
        y = x
        ...
    except ValueError:
        pass
    raise NotImplementedError
    return y
"""


def test_placeholders_are_asked_about_first() -> None:
    source = Source("stubs.py", STUBS)
    statements = [each for each in ast.walk(source.tree) if isinstance(each, ast.stmt)]
    kept = [each for each in statements if is_placeholder(source, each)]
    assert sorted(each.lineno for each in kept) == [5, 8, 13]
    suspects = [
        Suspect(
            path="stubs.py", line=each.lineno, end_line=each.lineno, function="", code="", score=1.0,
            failing=1, passing=0, statement=each,
        )
        for each in statements
    ]  # fmt: skip
    lines = [each.line for each in select_places(suspects, {"stubs.py": source})]
    assert sorted(lines[:3]) == [5, 8, 13]
    assert len(lines) == MOST_PLACES == len(set(lines))


@pytest.mark.parametrize(
    ("line", "whole", "value", "before"),
    [
        (1, None, None, True),  # a definition
        (2, "total = 0", "0", True),
        (3, "for item in items:", "items:", True),
        (4, None, None, True),  # its body is on the same line
        (5, "elif item:", "item:", False),
        (6, "total += item", "item", True),
        (7, "with open(limit) as file:", None, True),
        (8, "print(file)", None, True),
        (9, "return total", "total", True),
    ],
)
def test_the_gaps_at_a_statement(line: int, whole: str | None, value: str | None, before: bool) -> None:
    source = Source("a.py", PROGRAM)
    [statement] = [
        each for each in ast.walk(source.tree) if isinstance(each, ast.stmt) and each.lineno == line
    ][:1]

    def read(gap: Any) -> str | None:
        return None if gap is None else source.text[gap.start : gap.end]

    assert read(find_whole_gap(source, statement)) == whole
    assert read(find_value_gap(source, statement)) == value
    gap = find_gap_before(source, statement)
    assert (gap is not None) is before
    if gap is not None:
        filled = f"{source.text[: gap.start]}pass{gap.after}{source.text[gap.end :]}"
        assert [each.strip() for each in filled.splitlines()].count("pass") == 1
        ast.parse(filled)


@pytest.mark.parametrize(
    ("line", "part", "block"),
    [
        (1, None, None),  # a definition
        (2, None, "total = 0 … return total"),
        (3, None, "for item in items: … return total"),
        (4, None, "if item > limit: total += 1 … total += item"),
        (5, None, None),
        (6, None, None),  # its block is one line
        (7, "limit", "with open(limit) as file: … return total"),
        (8, "file", None),
        (9, None, None),
    ],
)
def test_parts_of_lines_and_blocks_are_gaps_too(line: int, part: str | None, block: str | None) -> None:
    source = Source("a.py", PROGRAM)
    [statement] = [
        each for each in ast.walk(source.tree) if isinstance(each, ast.stmt) and each.lineno == line
    ][:1]
    gap = find_part_gap(source, statement)
    assert (source.text[gap.start : gap.end] if gap else None) == part
    gap = find_block_gap(source, statement)
    lines = source.text[gap.start : gap.end].splitlines() if gap else []
    assert (f"{lines[0]} … {lines[-1].strip()}" if lines else None) == block


@pytest.mark.parametrize(
    ("old", "is_block", "written", "kept"),
    [
        ("limit", False, "limit + 1) as file:", "limit + 1"),  # the rest of the line, too
        ("limit", False, "limit\nprint", "limit"),
        (
            "print(file)",
            False,
            "print(\n            file,\n        )\n    x = 1",
            "print(\n            file,\n        )",
        ),
        ("print(file)", False, "print(1)  ", "print(1)"),
        ("print(file)\n    return total", True, "a()\n        b()\n    c()\nd()", "a()\n        b()"),
        ("with open(limit) as file:", True, "a()\n\n    b()\n\ndef g():\n    pass", "a()\n\n    b()"),
    ],
)
def test_what_leads_out_of_a_gap_is_cut_off(old: str, is_block: bool, written: str, kept: str) -> None:
    source = Source("a.py", PROGRAM)
    start = PROGRAM.rindex(old)
    gap = Gap(start=start, end=start + len(old), is_block=is_block)
    assert cut_filling(Filling(text=written), gap, source).text == kept


@pytest.fixture
def titles(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("titles.py", CODE)
    repo.write("test_titles.py", TESTS)
    repo.commit_all()
    return repo


def mend(repo: Repo, page: Any, name: str = "openai/coder-1.5b", *options: str) -> tuple[int, str]:
    turns: list[Mapping[str, Any]] = [{"text": "1"}, {"text": "I see nothing to change.", "repeat": 40}]
    with Loopback(turns, pages={"/infill": page} if page else {}) as server:
        result = run(
            "run", "The tests fail. Fix titles.py.", "--model", name, "--api-base", server.url, *options, cwd=repo.root
        )  # fmt: skip
    return result.code, result.err


@pytest.mark.slow
def test_what_the_model_fills_in_mends_what_no_template_does(titles: Repo) -> None:
    code, shown = mend(titles, make_answer(MENDED, -0.1))
    assert code == 0, shown
    assert MENDED in titles.read("titles.py")
    assert "a small model that fills in code" in shown
    assert f"`{MENDED}` is what the model writes at line 3" in shown


@pytest.mark.slow
def test_a_filling_that_mends_nothing_is_not_written(titles: Repo) -> None:
    code, shown = mend(titles, make_answer("return text", -0.1), "openai/coder-1.5b", "--max-time", "60")
    assert code in (4, 5, 13), shown
    assert titles.read("titles.py") == CODE


def test_of_a_long_test_file_the_failing_test_is_shown() -> None:
    rest = "def test_last():\n    assert f(2) == 4\n"
    files = {"a.py": f"import b\n\n{'# words' * LONGEST_EXTRA}\n\n{rest}", "short.py": f"import b\n\n{rest}"}

    def read(path: str) -> str:
        if not path:
            raise OSError
        return files[path]

    shown = [read_test_file([("", "doc"), (path, f"{path}::test_last[1]")], read) for path in files]
    assert shown == [[("a.py", rest)], [("short.py", files["short.py"])]]

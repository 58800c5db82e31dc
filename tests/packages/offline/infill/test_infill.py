"""A local model fills in suspicious statements; the tests judge what it writes."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from packages.offline.infill.filled_statements import find_gap_before, find_value_gap, find_whole_gap
from packages.offline.infill.filler import Filler, Filling, find_filler
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


def fill(page: Any, **options: Any) -> tuple[Filling | None, bool | None]:
    with Loopback(pages={"/infill": page} if page is not None else {}) as server:
        filler = Filler(server.url, "key")
        return asyncio.run(filler.fill("def f():\n    ", "\n", **options)), filler.works


def make_answer(text: str, *scores: float) -> Mapping[str, Any]:
    return {"content": text, "completion_probabilities": [{"logprob": each} for each in scores]}


@pytest.mark.parametrize(
    ("page", "filling", "works"),
    [
        (make_answer("return 1  ", -0.5, -1.5), Filling(text="return 1", score=-1.0), True),
        ({"content": "return 1"}, Filling(text="return 1", score=0.0), True),
        ({"content": "return 1", "completion_probabilities": [3, {}]}, Filling(text="return 1", score=0.0), True),
        (make_answer("  \n"), None, True),
        ({"content": 3}, None, False),
        ([], None, False),
        (None, None, False),  # a server that knows no such request
    ],
)  # fmt: skip
def test_a_filling_is_the_text_with_its_mean_log_probability(
    page: Any, filling: Filling | None, works: bool
) -> None:
    assert fill(page) == (filling, works)


def test_only_servers_on_this_machine_are_asked() -> None:
    def make(base: str) -> object:
        address = SimpleNamespace(base=base, key="")
        return SimpleNamespace(inner=SimpleNamespace(inner=None, address=address))

    assert find_filler(make("http://127.0.0.1:8080/v1")) is not None
    assert find_filler(make("http://localhost:8080/v1")) is not None
    assert find_filler(make("https://api.example.org/v1")) is None
    assert find_filler(make("http://127.0.0.1.example.org/v1")) is None
    assert find_filler(SimpleNamespace()) is None


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

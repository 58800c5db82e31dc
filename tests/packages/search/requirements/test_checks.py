"""Each kind of check that runs nothing, on the changes of a turn in a real repository."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent.verify.requirement import KINDS, Kind, Requirement
from packages.search.requirements.static_checks import check_statically
from packages.search.requirements.symbol_checks import check_symbols
from packages.search.requirements.turn_changes import TurnChanges
from tests.support.repo import Repo, agent_removes, agent_writes
from tools.core.workspace import Workspace

CART = """\
RATE = 2


def total(items: list[int], tax: int = 0) -> int:
    return sum(items) + tax


class Cart:
    def total(self):
        return 0
"""
CHANGED = """\
RATE = 2


def total(items, tax=0):
    return sum(items) * RATE + tax


def average(items, parser):
    parser.add_argument('--dry-run')
    return total(items) / len(items)


class Cart:
    def total(self, tax):
        return 0
"""

SAID: list[tuple[str, str, str]] = [
    ("file-exists", "cart.py", "met"),
    ("file-exists", "docs/", "met"),
    ("file-exists", "usage.md", "met"),
    ("file-exists", "missing.py", "not met"),
    ("file-exists", "../outside.py", "not met"),
    ("file-gone", "old.py", "met"),
    ("file-gone", "cart.py", "not met"),
    ("file-changed", "cart.py", "met"),
    ("file-changed", "docs/", "met"),
    ("file-changed", "order.py", "not met"),
    ("file-unchanged", "order.py", "met"),
    ("file-unchanged", "cart.py", "not met"),
    ("file-unchanged", "tests", "not met"),
    ("file-unchanged", "*.toml", "not met"),
    ("only-files", "cart.py, docs/", "not met"),
    ("only-files", "cart.py, docs/, tests, old.py, pyproject.toml", "met"),
    ("name-exists", "average", "met"),
    ("name-exists", "cart.py:average", "met"),
    ("name-exists", "order.py:average", "not met"),
    ("name-exists", "--dry-run", "met"),
    ("name-exists", "--dry", "not met"),
    ("name-exists", "--tax", "met"),
    ("name-exists", "-x", "not met"),
    ("name-exists", "Cart.total", "met"),
    ("name-gone", "legacy", "met"),
    ("name-gone", "average", "not met"),
    ("name-unchanged", "RATE", "met"),
    ("name-unchanged", "cart.py:total", "not met"),
    ("signature", "Cart.total", "not met"),
    ("signature", "cart.py:average", "met"),
    ("max-lines", "100", "met"),
    ("max-lines", "3", "not met"),
    ("max-files", "5", "met"),
    ("max-files", "4", "not met"),
    ("no-dependency", "", "not met"),
    ("file-exists", "shop/usage.md", "not met"),
    ("file-changed", "changelog", "not met"),
    ("name-gone", "cart.py:legacy", "met"),
    ("name-gone", "cart.py:average", "not met"),
]
SYMBOLS: list[tuple[Kind, str, str]] = [
    ("parameter", "average(parser)", "met"),
    ("parameter", "average(parse)", "met"),
    ("parameter", "average(tax)", "not met"),
    ("parameter", "legacy(x)", "not checked"),
    ("mentioned", "httpx", "met"),
    ("mentioned", "rich", "met"),
    ("mentioned", "http", "not met"),
    ("mentioned", "1.0.2", "met"),
    ("mentioned", "1.0", "not met"),
    ("mentioned", "shop", "not met"),
]


@pytest.fixture(scope="module")
def turn(tmp_path_factory: pytest.TempPathFactory) -> tuple[TurnChanges, Workspace]:
    """A turn that changed five files, after an earlier one had changed another."""
    repo = Repo(tmp_path_factory.mktemp("checks") / "shop")
    repo.write("cart.py", CART)
    repo.write("order.py", "STATUS = 1\n")
    repo.write("old.py", "def legacy():\n    pass\n")
    repo.write("tests/test_cart.py", "def test_total():\n    assert True\n")
    repo.write("pyproject.toml", '[project]\nname = "shop"\ndependencies = ["rich>=1"]\n')
    repo.commit_all()
    at = repo.workspace()
    agent_writes(at, "order.py", "STATUS = 2\n")
    changes = TurnChanges(workspace=at)
    changes.begin_turn()
    agent_writes(at, "cart.py", CHANGED)
    agent_writes(at, "docs/usage.md", "Use it, from v1.0.2 on.\n")
    agent_writes(at, "tests/test_cart.py", "def test_total():\n    pass\n")
    agent_writes(at, "pyproject.toml", '[project]\nname = "shop"\ndependencies = ["Rich>=2", "httpx"]\n')
    agent_removes(at, "old.py")
    return changes, at


@pytest.mark.parametrize(("kind", "check", "state"), SAID, ids=[f"{kind} {check}" for kind, check, _ in SAID])
def test_a_check_says_whether_a_requirement_is_met(
    kind: str, check: str, state: str, turn: tuple[TurnChanges, Workspace]
) -> None:
    [known] = [each for each in KINDS if each == kind]
    result = asyncio.run(check_statically(Requirement(id="r1", text="", kind=known, check=check), *turn))
    assert result is not None
    assert (result.state, result.evidence) == (state, "static"), result
    assert result.detail or state == "met"


@pytest.mark.parametrize(("kind", "check", "state"), SYMBOLS)
def test_a_check_of_a_name_says_whether_it_is_met(
    kind: Kind, check: str, state: str, turn: tuple[TurnChanges, Workspace]
) -> None:
    result = asyncio.run(check_symbols(Requirement(id="r1", text="", kind=kind, check=check), *turn))
    assert result is not None
    assert result.state == state, result


def test_a_version_that_is_pinned_by_its_hash_is_not_checked(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("ci.yml", "uses: a/b@" + "0" * 40 + "\n")
    repo.commit_all()
    at = repo.workspace()
    changes = TurnChanges(workspace=at)
    changes.begin_turn()
    agent_writes(at, "ci.yml", "uses: a/b@" + "1" * 40 + "\n")
    each = Requirement(id="r1", text="", kind="mentioned", check="4.0.1")
    result = asyncio.run(check_symbols(each, changes, at))
    assert result is not None
    assert result.state == "not checked"


def test_a_file_that_is_named_by_its_last_part_is_gone_where_it_was(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("README.md", "Shop\n")
    repo.write("docs/README.md", "Docs\n")
    repo.commit_all()
    at = repo.workspace()
    changes = TurnChanges(workspace=at)
    changes.begin_turn()
    each = Requirement(id="r1", text="", kind="file-gone", check="README.md")
    before = asyncio.run(check_statically(each, changes, at))
    agent_removes(at, "docs/README.md")
    after = asyncio.run(check_statically(each, changes, at))
    assert before is not None
    assert after is not None
    assert (before.state, after.state) == ("not met", "met")


def test_one_more_test_changes_no_test(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("tests/test_cart.py", "def test_total():\n    assert True\n")
    repo.commit_all()
    at = repo.workspace()
    changes = TurnChanges(workspace=at)
    changes.begin_turn()
    agent_writes(at, "tests/test_order.py", "def test_order():\n    assert True\n")
    each = Requirement(id="r1", text="", kind="file-unchanged", check="tests")
    found = [asyncio.run(check_statically(each, changes, at))]
    agent_writes(at, "tests/test_cart.py", "def test_total():\n    pass\n")
    found.append(asyncio.run(check_statically(each, changes, at)))
    assert [result.state for result in found if result is not None] == ["met", "not met"]


def test_added_dependencies_are_named(turn: tuple[TurnChanges, Workspace]) -> None:
    each = Requirement(id="r1", text="", kind="no-dependency")
    result = asyncio.run(check_statically(each, *turn))
    assert result is not None
    assert result.detail == "added: httpx (pyproject.toml)"


@pytest.mark.parametrize(
    ("path", "before", "after", "added"),
    [
        ("requirements-dev.txt", "rich==1\n# a\n-r b.txt\n", "rich==2\nHttpx[http2]>=1\n", {"httpx"}),
        (
            "package.json",
            '{"dependencies": {"a": "1"}}',
            '{"dependencies": {"a": "2"}, "devDependencies": {"b": "1"}}',
            {"b"},
        ),
        (
            "Cargo.toml",
            "[dependencies]\na='1'\n",
            "[dependencies]\na='1'\n[x.dev-dependencies]\nb={path='1'}\n",
            {"b"},
        ),
        ("go.mod", "require a.b/c v1.0\n", "require (\n\ta.b/c v1.1\n\td.e/f v1.0\n)\n", {"d.e/f"}),
        ("Gemfile", "gem 'a'\n", "gem 'a'\ngem \"b\", '~> 1'\n", {"b"}),
        ("Pipfile", "[packages]\na='*'\n", "[packages]\na='*'\n[dev-packages]\nb='*'\n", {"b"}),
    ],
)
def test_a_manifest_names_its_dependencies(path: str, before: str, after: str, added: set[str]) -> None:
    from packages.search.requirements.dependencies import list_dependencies

    assert list_dependencies(path, after) - list_dependencies(path, before) == added


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ("def f(a, b=1): pass\n", "def f(a: int, b: int = 1) -> int: return a\n", True),
        ("def f(a, b=1): pass\n", "def f(a, b=2): pass\n", False),
        ("def f(a): pass\n", "async def f(a): pass\n", False),
        ("def f(a, *b, c=1, **d): pass\n", "@x\ndef f(a, *b, c=1, **d):\n    return 1\n", True),
        ("class f:\n    def __init__(self, a): pass\n", "class f:\n    def __init__(self): pass\n", False),
        ("if 1:\n    def f(a): pass\n", "def f(a): pass\n", True),
    ],
)
def test_a_signature_is_that_of_the_parameters(before: str, after: str, *, kept: bool) -> None:
    from packages.search.requirements.definition_text import read_signatures

    assert (read_signatures("a.py", before, "f") == read_signatures("a.py", after, "f")) is kept


def test_other_languages_have_signatures_too() -> None:
    from packages.search.requirements.definition_text import read_signatures

    [old] = read_signatures("a.js", "function total(items) {\n  return 1;\n}\n", "total")
    [new] = read_signatures("a.js", "function total(items, tax) {\n  return 1;\n}\n", "total")
    assert "items" in old
    assert old != new

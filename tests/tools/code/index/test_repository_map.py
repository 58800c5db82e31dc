"""The map: what matters comes in, within the budget, in a stable order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import run
from tests.tools.workspaces import call, put, workspace
from tools.code.code_tool import code
from tools.code.index.code_index import Index
from tools.code.index.reference_graph import get_graph
from tools.code.index.repository_map import CHARACTERS, build_map
from tools.edit.edit_tools import edit
from tools.fs.file_tools import read

pytestmark = pytest.mark.timeout(300)  # a busy machine is no finding

USED_BY_ALL = """
    class Money:
        def rounded(self):
            return 1

        def _inner_only(self):
            return 2
    """


def layout(root: Path, count: int = 30) -> None:
    put(root, {"base/money.py": USED_BY_ALL, "far/island.py": "def lonely_island():\n    return 1\n"})
    for number in range(count):
        use = "from base.money import Money\n\n\n"
        text = f"{use}def part_{number}():\n    return Money().rounded()\n"
        put(
            root,
            {
                f"parts/p{number:02}.py": text,
                f"tests/test_p{number:02}.py": text.replace("def ", "def test_"),
            },
        )


def test_what_all_use_comes_first_and_the_budget_holds(tmp_path: Path) -> None:
    layout(tmp_path)
    with Index(tmp_path, None) as index:
        index.refresh()
        found = build_map(index, {}, 100)
        text = "\n".join(each.text for each in found)
        assert len(text) <= 100 * CHARACTERS
        [money] = [each for each in found if each.path == "base/money.py"]
        assert money.rank == max(each.rank for each in found)
        assert [each.name for each in money.symbols] == ["Money", "Money.rounded"]
        assert [each.path for each in found] == sorted(each.path for each in found)
        assert not any(each.path.startswith("tests/") for each in found)
        assert build_map(index, {}, 100) == found, "the same code gives the same map"


def test_seeds_draw_their_surroundings_in(tmp_path: Path) -> None:
    layout(tmp_path)
    with Index(tmp_path, None) as index:
        index.refresh()
        paths = [each.path for each in build_map(index, {"parts/p07.py": 1.0}, 100)]
        assert {"parts/p07.py", "base/money.py"} <= set(paths)
        assert (
            max(build_map(index, {"far/island.py": 1.0}, 100), key=lambda each: each.rank).path
            == "far/island.py"
        )


def test_what_a_session_changed_and_read_draws_the_map_to_it(tmp_path: Path) -> None:
    layout(tmp_path / "work")
    at = workspace(tmp_path)

    def ranks() -> dict[str, float]:
        return {
            each["path"]: each["rank"] for each in call(code, at, action="map", target="part 3").data["code"]
        }

    before = ranks()
    assert before["far/island.py"] == 0.0
    call(read, at, path="parts/p20.py")
    call(edit, at, path="far/island.py", old="return 1", new="return 2")
    after = ranks()
    assert after["far/island.py"] > 0.01
    assert after["parts/p20.py"] > before["parts/p20.py"]


def test_the_graph_follows_the_files(tmp_path: Path) -> None:
    layout(tmp_path, 3)
    with Index(tmp_path, tmp_path / "index.sqlite") as index:
        index.refresh()
        first = get_graph(index)
        again = get_graph(index)
        assert (again.paths, list(again.sources), list(again.targets)) == (
            first.paths, list(first.sources), list(first.targets),
        )  # fmt: skip
        assert [[name for name, _ in names] for names in again.known] == [
            [n for n, _ in names] for names in first.known
        ]
        (tmp_path / "base/money.py").unlink()
        index.refresh()
        assert not get_graph(index).sources


@pytest.mark.slow
def test_the_command_shows_it(tmp_path: Path) -> None:
    layout(tmp_path, 3)
    shown = run("map", "--tokens", "200", cwd=tmp_path)
    assert shown.code == 0, shown.err
    assert "base/money.py:\n 2: class Money\n 3:   def rounded(self)\n" in shown.out
    about = run("map", "lonely island", "--json", cwd=tmp_path)
    assert max(json.loads(about.out), key=lambda each: each["rank"])["path"] == "far/island.py"
    (tmp_path / "empty").mkdir()
    assert run("map", "-C", "empty", cwd=tmp_path).code == 3

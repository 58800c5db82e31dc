"""`patchwright optimize` in real processes: a metric that counts, so that no clock decides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.exit_codes import Exit
from packages.improve.commands.optimize import choose_code
from tests.support.cli import git, run
from tests.support.confined import needs_confinement

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

SLOW = '''"""A shop."""


def rank(prices):
    """Return the prices in order."""
    ranked = []
    for price in prices:
        place = 0
        while place < len(ranked) and ranked[place] < price:
            place += 1
        ranked.insert(place, price)  # the first of equal ones
    return ranked
'''

METRIC = """
import sys
from shop import rank

lines = 0


def trace(frame, event, argument):
    global lines
    lines += event == "line"
    return trace


prices = [7 * each % 61 for each in range(60)]
rank(prices)
sys.settrace(trace)
rank(prices)
sys.settrace(None)
print("lines:", lines)
"""

TEST = "from shop import rank\n\n\ndef test_rank():\n    assert rank([3, 1, 2]) == [1, 2, 3]\n"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository with a slow function, its test and its metric."""
    needs_confinement(tmp_path)
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "shop.py").write_text(SLOW)
    (folder / "count.py").write_text(METRIC)
    (folder / "test_shop.py").write_text(TEST)
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Start")
    return folder


def optimize(folder: Path, *more: str) -> tuple[int, dict[str, Any]]:
    done = run("optimize", *more, "--json", cwd=folder, timeout=1500)
    assert done.out, done.err
    return done.code, json.loads(done.out)


def test_a_slow_function_becomes_faster_and_is_committed(shop: Path) -> None:
    code, found = optimize(shop, "shop.py::rank", "--metric", "python3 count.py", "--budget", "5m")
    assert (code, found["outcome"]) == (Exit.DONE, "done"), found
    assert [each.partition(":")[0] for each in found["rewrites"]] == ["bisect"]
    assert found["gain"] > 3
    assert found["inputs"] > 200
    assert found["won"] == len(found["pairs"])
    text = (shop / "shop.py").read_text()
    assert "place = bisect.bisect_left(ranked, price)" in text
    assert "# the first of equal ones" in text
    assert git(shop, "show", "--stat", "--format=%s").startswith("Make rank ")
    assert git(shop, "status", "--porcelain") == ""
    assert Path(found["plot"]).read_text().startswith("<svg")
    assert run("undo", cwd=shop).code == Exit.DONE
    assert (shop / "shop.py").read_text() == SLOW


MATCH = """def match(table, tokens):
    actions = []
    for token in tokens:
        for known, action in table:
            if known == token:
                actions.append(action)
                break
    return actions
"""

BOTH = """
import time
from lib.match import match
table = [(each, -each) for each in range(60)]
for work in (lambda: rank(prices), lambda: match(table, list(range(60)))):
    end = time.process_time() + 0.15  # for the profile, whatever the machine
    while time.process_time() < end:
        work()
sys.settrace(trace)
match(table, list(range(60)))
sys.settrace(None)
"""


def test_the_hot_files_of_a_folder_are_made_faster_in_turn(shop: Path) -> None:
    (shop / "lib" / "tests").mkdir(parents=True)
    git(shop, "mv", "shop.py", "lib/shop.py")
    (shop / "test_shop.py").write_text(TEST.replace("from shop", "from lib.shop"))
    (shop / "lib" / "match.py").write_text(MATCH)
    (shop / "lib" / "idle.py").write_text("def rest(xs):\n    return [x for x in xs if x in xs]\n")
    (shop / "lib" / "tests" / "slow.py").write_text("def rest():\n    return 0\n")
    first, _, last = METRIC.replace("from shop", "from lib.shop").rpartition("print")
    (shop / "count.py").write_text(f"{first}{BOTH}print{last}")
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "Move")
    code, found = optimize(shop, "lib", "--metric", "python3 count.py", "--budget", "10m")
    assert code == Exit.DONE, found
    assert {each["path"] for each in found["files"]} == {"lib/shop.py", "lib/match.py"}
    assert all(each["gain"] > 1.2 for each in found["files"]), found["files"]
    assert len({each["commit"] for each in found["files"]}) == 2
    assert git(shop, "status", "--porcelain") == ""


def test_a_folder_in_which_no_time_is_spent_is_no_target(shop: Path) -> None:
    (shop / "lib").mkdir()
    (shop / "lib" / "idle.py").write_text("def rest():\n    return 0\n")
    done = run("optimize", "lib", "--metric", "python3 count.py", cwd=shop)
    assert done.code == Exit.USAGE
    assert "spends no time" in done.err


def test_nothing_is_claimed_where_the_metric_does_not_move(shop: Path) -> None:
    code, found = optimize(shop, "shop.py", "--metric", "echo 5", "--no-commit")
    assert (code, found["gain"]) == (Exit.NOTHING_TO_DO, None), found
    assert (shop / "shop.py").read_text() == SLOW


def test_a_check_that_fails_stops_what_the_metric_likes(shop: Path) -> None:
    check = "! grep -q bisect shop.py"
    code, found = optimize(
        shop, "shop.py::rank", "--metric", "python3 count.py", "--check", check, "--no-commit"
    )
    assert code != Exit.DONE
    assert found["gain"] is None
    assert (shop / "shop.py").read_text() == SLOW


def test_a_limit_after_a_change_is_no_success() -> None:
    assert choose_code([Exit.NOTHING_TO_DO, Exit.DONE, Exit.NOTHING_TO_DO]) is Exit.DONE
    assert choose_code([Exit.DONE, Exit.LIMIT]) is Exit.LIMIT
    assert choose_code([Exit.NOTHING_TO_DO]) is Exit.NOTHING_TO_DO


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("shop.py::missing", "--metric", "echo 1"), "Functions there: rank"),
        (("missing.py", "--metric", "echo 1"), "no Python file"),
        (("../shop.py", "--metric", "echo 1"), "is not in"),
        (("shop.py", "--metric", "echo 'x"), "--metric is no command line"),
    ],
)
def test_a_wrong_order_is_refused(shop: Path, words: tuple[str, ...], told: str) -> None:
    done = run("optimize", *words, cwd=shop)
    assert done.code == Exit.USAGE
    assert told in done.err

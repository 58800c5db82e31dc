"""What was changed since it worked is taken back: real repositories, real tests."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from textwrap import dedent

import pytest

from packages.offline.repair.engine.repair_engine import repair
from packages.offline.repair.localize.git_reverts import (
    MOST_HUNKS,
    MOST_LINES,
    UNCOMMITTED,
    attach_past_hunks,
    boost_recent_changes,
    compute_revert_hunks,
)
from packages.offline.repair.localize.statement_ranking import create_suspect
from packages.offline.repair.templates import Source
from tests.tools.workspaces import workspace

GOOD = dedent("""\
    RATES = {"a": 3, "b": 7, "c": 19}


    def price(kind, count):
        rate = RATES[kind]
        if count > 10:
            rate = rate * 7 // 8
        return rate * count


    def label(kind):
        return kind.upper()
    """)
# No other template writes such an expression.
BAD = GOOD.replace("rate = rate * 7 // 8", "rate = hash(str(rate)) ^ 90210")
TESTS = dedent("""\
    from shop import label, price


    def test_few():
        assert price("a", 2) == 6


    def test_many():
        assert price("c", 40) == 640


    def test_label():
        assert label("a") == "A"
    """)


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", folder, *identity, *arguments], check=True, capture_output=True)


def committed(folder: Path, text: str, message: str = "work") -> None:
    if not (folder / ".git").exists():
        git(folder, "init", "-q")
    (folder / "shop.py").write_text(text, "utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)


def taken_back(now: str, before: str) -> list[str]:
    return [now[: each.start] + each.text + now[each.end :] for each in compute_revert_hunks(now, before, "")]


def test_each_change_is_taken_back_alone() -> None:
    now = GOOD.replace('"c": 19', '"c": 20').replace("    return kind.upper()\n", "    return kind\n")
    one, other = taken_back(now, GOOD)
    assert one == now.replace('"c": 20', '"c": 19')
    assert other == now.replace("    return kind\n", "    return kind.upper()\n")
    assert taken_back(GOOD, GOOD) == []


def test_what_came_goes_and_what_went_comes() -> None:
    longer = GOOD.replace("    rate = RATES", "    kind = kind.strip()\n    rate = RATES")
    assert taken_back(longer, GOOD) == [GOOD]
    assert taken_back(GOOD, longer) == [longer]
    assert taken_back(GOOD, GOOD + "X = 1\n") == [GOOD + "X = 1\n"]


def test_another_program_is_no_past_of_this_one() -> None:
    lines = [f"x{number} = {number}\n" for number in range(200)]
    others = [line.replace("=", "= 1 +") if number % 2 else line for number, line in enumerate(lines)]
    assert len(lines) > 2 * MOST_HUNKS
    assert compute_revert_hunks("".join(lines), "".join(others), "") == []
    assert compute_revert_hunks("x = 1\n", "".join(lines[: MOST_LINES + 2]), "") == []


def test_what_is_not_committed_is_more_suspicious(tmp_path: Path) -> None:
    committed(tmp_path, GOOD)
    source = Source("shop.py", BAD)
    attach_past_hunks(tmp_path, {"shop.py": source})
    assert [each.since for each in source.hunks] == [""]
    changed = next(
        each for each in source.statements if "90210" in source.get_text(each) and each.lineno == 7
    )
    alike = next(each for each in source.statements if each.lineno == 5)
    suspects = boost_recent_changes(
        [create_suspect(source, each, 0.5) for each in (alike, changed)], {"shop.py": source}
    )
    assert [each.line for each in suspects] == [7, 5]
    assert suspects[0].score == 0.5 == pytest.approx(suspects[1].score * UNCOMMITTED, abs=0.001)


@pytest.mark.parametrize("how", ["no repository", "no commit", "nothing changed", "file is new"])
def test_without_a_past_nothing_is_taken_back(tmp_path: Path, how: str) -> None:
    (tmp_path / "shop.py").write_text(BAD, "utf-8")
    if how != "no repository":
        git(tmp_path, "init", "-q")
    if how == "nothing changed":
        committed(tmp_path, BAD)
    if how == "file is new":
        committed(tmp_path, BAD)
        (tmp_path / "shop.py").rename(tmp_path / "store.py")
    source = Source("store.py" if how == "file is new" else "shop.py", BAD)
    attach_past_hunks(tmp_path, {source.path: source})
    assert source.hunks == []


def test_names_are_those_below_the_folder_that_is_worked_in(tmp_path: Path) -> None:
    below = tmp_path / "ünder way"
    below.mkdir()
    git(tmp_path, "init", "-q")
    for text in (GOOD, BAD):
        (below / "shop.py").write_text(text, "utf-8")
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-qm", "work")
    source = Source("shop.py", BAD)
    attach_past_hunks(below, {"shop.py": source})
    assert [BAD[: each.start] + each.text + BAD[each.end :] for each in source.hunks] == [GOOD]
    assert source.hunks[0].since


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("late", [False, True])
def test_the_engine_takes_back_what_broke_it(tmp_path: Path, late: bool) -> None:
    at = workspace(tmp_path, {"shop.py": GOOD, "test_shop.py": TESTS})
    committed(at.root, GOOD)
    if late:
        committed(at.root, BAD, "hash the rate")
        committed(at.root, BAD + "\n\nEND = 1\n", "end")
    else:
        (at.root / "shop.py").write_text(BAD, "utf-8")
    result = asyncio.run(repair(at, budget=60))
    assert result.outcome == "fixed"
    assert [fix.template for fix in result.fixes] == ["as_it_was" if late else "as_committed"]
    assert "rate = rate * 7 // 8" in result.fixes[0].new
    assert "commit" in result.fixes[0].why
    assert result.fixes[0].own_work.startswith("your commit" if late else "your change")
    assert not result.fixes[0].is_sure, "a person's fresh work is theirs to take back"
    assert "END" not in result.fixes[0].old

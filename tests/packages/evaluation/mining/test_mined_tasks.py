"""Tasks out of a real repository: fixes of its history and faults put into it, each shown by running its tests."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from packages.evaluation.mining.fix_commits import is_test_path, list_fix_commits
from packages.evaluation.mining.inject_faults import InjectionLimits, inject_faults
from packages.evaluation.mining.mine_fixes import JOURNAL, MiningLimits, mine_fixes
from packages.evaluation.mining.operators import generate_faults
from packages.evaluation.mining.template_inverse import find_undoing_template
from packages.evaluation.suites.source_folder import GitHistory
from packages.evaluation.tasks.suite_folder import load_suite
from sandbox.errors import UserError
from tests.support.evaluation_tasks import open_checkers, write_tree

# Each runs real pytest sessions in a sandbox.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

FAULTY = """\
def total(prices):
    return sum(prices) - 1


def first(items):
    if not items:
        return None
    return items[0]
"""
TESTS = """\
from shop import first


def test_first():
    assert first([1]) == 1
    assert first([]) is None
"""
MENDED = FAULTY.replace("    return sum(prices) - 1", "    # all of them\n    return sum(prices)")
MORE_TESTS = (
    TESTS.replace("import first", "import first, total")
    + """

def test_total():
    assert total([1, 2]) == 3
    assert total([5]) == 5
"""
)
MESSAGE = """\
Fix the total of a cart (closes #7)

The total was too low by one.
We now use sum(prices) alone.

Signed-off-by: A <a@b>
"""
COMMITS = (
    ("Begin", {"shop.py": FAULTY, "test_shop.py": TESTS}),
    (MESSAGE, {"shop.py": MENDED, "test_shop.py": MORE_TESTS}),
    ("Add a note", {"NOTES": "nothing\n"}),
    ("Fix a comment", {
        "shop.py": MENDED.replace("all of them", "every one"),
        "test_shop.py": MORE_TESTS.replace("first([1]) == 1", "first([2]) == 2"),
    }),
)  # fmt: skip


@pytest.fixture(name="shop", scope="module")
def _shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clones") / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    for message, files in COMMITS:
        write_tree(folder, files)
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", message)
    return folder


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run(
        ["git", "-C", folder, *identity, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_fix_becomes_a_task_with_hidden_tests(shop: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    summary = mine_fixes(shop, tmp_path / "mined", limits=MiningLimits(), report=lines.append)
    assert (summary.candidates, summary.tried, summary.found) == (2, 2, 1)
    assert summary.rejected == {"its tests pass before it": 1}
    (task,) = load_suite(tmp_path / "mined").tasks
    assert task.file.language == "python"
    assert "The total was too low by one." in task.prompt
    for secret in ("sum(prices)", "#7", "Signed-off", "shop.py"):
        assert secret not in task.prompt
    with open_checkers() as checkers:
        assert checkers.run(task).code == 1
        assert task.reference is not None
        solved = checkers.run(task, task.reference)
        assert solved.code == 0, solved.output


def test_mining_goes_on_behind_what_was_tried(shop: Path, tmp_path: Path) -> None:
    first = mine_fixes(shop, tmp_path / "mined", limits=MiningLimits(attempts=1))
    assert (first.tried, first.found) == (1, 0)
    journal = tmp_path / "mined" / JOURNAL
    journal.write_text(journal.read_text() + '{"commit": "half a li')  # as a kill leaves it
    second = mine_fixes(shop, tmp_path / "mined", limits=MiningLimits(), show_tests=True)
    assert (second.known, second.tried, second.found) == (1, 1, 1)
    (task,) = load_suite(tmp_path / "mined").tasks
    assert "test_shop.py::test_total" in task.prompt
    with open_checkers() as checkers:
        assert checkers.run(task).code == 1
        assert checkers.run(task, task.reference or b"").code == 0


def test_folders_without_a_history_are_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no git repository"):
        mine_fixes(tmp_path, tmp_path / "mined", limits=MiningLimits())


def test_fixes_are_told_from_other_commits(shop: Path) -> None:
    found = list(list_fix_commits(GitHistory(shop)))
    assert [each.subject for each in found] == ["Fix a comment", "Fix the total of a cart (closes #7)"]
    tests = (
        "tests/x.js",
        "a/b_test.go",
        "x.test.ts",
        "src/test/java/A.java",
        "spec/a_spec.rb",
        "tests/it.rs",
    )
    assert all(map(is_test_path, tests))
    assert not any(map(is_test_path, ("src/latest.py", "contest.go", "attest/mod.rs")))


def test_faults_are_shown_by_tests(shop: Path, tmp_path: Path) -> None:
    limits = InjectionLimits(tasks=3, per_file=3, attempts=12)
    summary = inject_faults(shop, tmp_path / "injected", limits=limits)
    assert summary.written == 3
    tasks = load_suite(tmp_path / "injected").tasks
    bases = {(each.folder / "base.patch").read_bytes() for each in tasks}
    assert len(bases) == 3
    with open_checkers() as checkers:
        for task in tasks:
            about = json.loads((task.folder / "fault.json").read_text())
            assert about["tests"]
            assert ("in-reach-of-templates" in task.file.tags) is bool(about["template"])
            assert checkers.run(task).code == 1
            assert task.reference is not None
            assert checkers.run(task, task.reference).code == 0
    again = inject_faults(shop, tmp_path / "injected", limits=limits)
    assert (again.written, again.kept) == (0, 3)


def test_operators_make_distinct_programs_and_templates_undo_some() -> None:
    text = "def first(items):\n    if not items:\n        return None\n    return items[0] if len(items) < 9 else 'é'\n"
    faults = list(generate_faults(text))
    assert {"dropped-not", "dropped-guard", "comparison", "constant", "swapped-branches"} <= {
        each.operator for each in faults
    }
    assert len({each.text for each in faults}) == len(faults)
    compared = next(each for each in faults if each.operator == "comparison")
    assert "len(items) <= 9" in compared.text
    assert find_undoing_template(compared, text)

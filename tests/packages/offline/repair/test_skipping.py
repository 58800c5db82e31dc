"""A change after which a test is skipped, expected to fail, or gone is not taken, whatever else it mends."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from packages.offline.repair.engine.repair_engine import repair
from packages.offline.repair.result import Outcome, RepairResult
from tests.tools.workspaces import workspace

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

# No small change mends what is fast; one literal switches it off, and then `size` and `width` are right.
FEAT = """\
HAVE_FAST = True


def size(text):
    return 3 if HAVE_FAST else len(text)


def width(text):
    return 7 if HAVE_FAST else len(text) + 1


def encode(text):
    if not HAVE_FAST:
        raise RuntimeError("no fast way")
    return [text] * 2
"""
SIZE = (
    "import feat\n\n\ndef test_size():\n    assert feat.size('ab') == 2\n    assert feat.width('abcd') == 5\n"
)
ENCODE = "    assert feat.encode('ab') == [98, 97]\n"
PLAIN = "    assert feat.encode('') is not None\n"

SKIPPED = "@pytest.mark.skipif(not feat.HAVE_FAST, reason='not built')\n"
IN_ONE_FILE = {
    "another failing test is skipped": f"{SIZE}\n\nimport pytest\n\n\n{SKIPPED}def test_encode():\n{ENCODE}",
    "another failing test skips itself": f"{SIZE}\n\nimport pytest\n\n\ndef test_encode():\n"
    f"    if not feat.HAVE_FAST:\n        pytest.skip('not built')\n{ENCODE}",
    "another failing test is gone": f"{SIZE}\n\nif feat.HAVE_FAST:\n    def test_encode():\n    {ENCODE}",
    "a passing test is gone": f"{SIZE}\n\nclass TestPlain:\n    __test__ = feat.HAVE_FAST\n\n"
    f"    def test_plain(self):\n    {PLAIN}",
    "it is expected to fail and passes": "import pytest\nimport feat\n\n\n"
    "@pytest.mark.xfail(not feat.HAVE_FAST, reason='not built')\ndef test_size():\n"
    "    assert feat.size('ab') == 2\n    assert feat.width('abcd') == 5\n",
}
IN_OTHER_FILES = {
    "skipped": f"import pytest\nimport feat\n\n\n{SKIPPED}def test_plain():\n{PLAIN}",
    "gone": f"import feat\n\nif feat.HAVE_FAST:\n    def test_plain():\n    {PLAIN}",
    "not imported": "import pytest\nimport feat\n\n"
    f"pytest.importorskip('json' if feat.HAVE_FAST else 'no_such_module')\n\n\ndef test_plain():\n{PLAIN}",
    "deselected": f"import feat\n\n\ndef test_plain():\n{PLAIN}",
}
DESELECT = """\
import feat


def pytest_collection_modifyitems(config, items):
    gone = [] if feat.HAVE_FAST else [item for item in items if "plain" in item.name]
    config.hook.pytest_deselected(items=gone)
    items[:] = [item for item in items if item not in gone]
"""


def run(folder: Path, files: Mapping[str, str], *targets: str, budget: float = 6) -> RepairResult:
    return asyncio.run(repair(workspace(folder, files), targets=targets, budget=budget))


@pytest.mark.parametrize("test", IN_ONE_FILE.values(), ids=IN_ONE_FILE)
def test_a_change_that_mends_one_test_by_taking_another_away_is_no_fix(tmp_path: Path, test: str) -> None:
    result = run(tmp_path, {"feat.py": FEAT, "test_feat.py": test})
    assert not [fix for fix in result.fixes if "HAVE_FAST = " in fix.old], result.reason
    assert result.outcome is not Outcome.FIXED


@pytest.mark.parametrize("how", IN_OTHER_FILES)
def test_tests_of_other_files_may_neither_be_skipped_nor_gone(tmp_path: Path, how: str) -> None:
    files = {"feat.py": FEAT, "test_size.py": SIZE, "test_other.py": IN_OTHER_FILES[how]}
    if how == "deselected":
        files["conftest.py"] = DESELECT
    result = run(tmp_path, files, "test_size.py")
    assert not [fix for fix in result.fixes if "HAVE_FAST = " in fix.old], result.reason


def test_tests_that_were_skipped_before_keep_no_change_from_being_taken(tmp_path: Path) -> None:
    other = "import pytest\n\n\n@pytest.mark.skip\ndef test_later():\n    pass\n"
    other += "\n\n@pytest.mark.xfail\ndef test_x():\n    assert 0\n"
    files = {"a.py": "def f(x):\n    return x - 1\n", "test_other.py": other}
    files["test_a.py"] = "from a import f\n\n\ndef test_f():\n    assert f(1) == 2\n    assert f(5) == 6\n"
    for folder, targets in (("all", ()), ("named", ("test_a.py",))):
        (tmp_path / folder).mkdir()
        assert run(tmp_path / folder, files, *targets, budget=60).outcome is Outcome.FIXED


def test_a_change_that_lets_tests_be_imported_and_skips_them_all_is_no_fix(tmp_path: Path) -> None:
    test = "import unittest\nimport feat\n\n\n@unittest.skipUnless(feat.HAVE_FAST, 'not built')\n"
    test += "class TestFast(unittest.TestCase):\n    def test_fast(self):\n        self.fail(feat.START)\n"
    files = {"feat.py": "HAVE_FAST = []\nSTART = HAVE_FAST[0]\n", "test_feat.py": test}
    result = run(tmp_path, files, budget=20)
    assert (result.outcome, result.fixes) == (Outcome.IMPORT_ERROR, ())

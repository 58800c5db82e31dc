"""Only passed is passed: a test that is skipped, expected to fail, deselected or gone is none that was mended."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import call, run, script
from tests.support.repo import Repo

pytestmark = pytest.mark.slow

PROMPT = "make the failing tests pass"
FEATURE = """\
HAVE_FAST = True


def encode(text):
    return [ord(each) for each in text]


def encode_fast(text):
    if not HAVE_FAST:
        raise RuntimeError("no fast way")
    return list(text)
"""

WAYS = {
    "unittest": """\
import unittest

import feat


class Plain(unittest.TestCase):
    def test_plain(self):
        self.assertEqual(feat.encode("a"), [97])


@unittest.skipUnless(feat.HAVE_FAST, "no fast way")
class Fast(unittest.TestCase):
    def test_same(self):
        self.assertEqual(feat.encode_fast("ab!")[::-1], [33, 98, 97])

    def test_empty(self):
        self.assertEqual(feat.encode_fast(""), [])
""",
    "skipif": """\
import pytest

import feat

fast = pytest.mark.skipif(not feat.HAVE_FAST, reason="no fast way")


def test_plain():
    assert feat.encode("a") == [97]


@fast
def test_same():
    assert feat.encode_fast("ab!")[::-1] == [33, 98, 97]


@fast
def test_empty():
    assert feat.encode_fast("") == []
""",
    "xfail": """\
import pytest

import feat


def test_plain():
    assert feat.encode("a") == [97]


@pytest.mark.xfail(not feat.HAVE_FAST, reason="no fast way")
def test_same():
    assert feat.encode_fast("ab!")[::-1] == [33, 98, 97]


def test_empty():
    assert feat.encode("") == []
""",
    "gone": """\
import feat


def test_plain():
    assert feat.encode("a") == [97]


if feat.HAVE_FAST:

    def test_same():
        assert feat.encode_fast("ab!")[::-1] == [33, 98, 97]

    def test_empty():
        assert feat.encode_fast("") == []
""",
}
"""Switching `HAVE_FAST` off makes no failing test pass in any of them."""


@pytest.fixture(params=WAYS)
def feature(request: pytest.FixtureRequest, tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "feature")
    repo.write("feat.py", FEATURE)
    repo.write("test_feat.py", WAYS[request.param])
    repo.write(".gitignore", "__pycache__\n.pytest_cache\n")
    repo.commit_all("Start")
    return repo


def test_the_offline_engine_does_not_switch_off_what_tests_need(feature: Repo) -> None:
    result = run("run", PROMPT, "--model", "offline", cwd=feature.root, timeout=180)
    assert "HAVE_FAST = True" in feature.read("feat.py"), "neither in the files nor in what was committed"
    assert "skipped" not in result.err
    committed = feature.git("rev-list", "--count", "HEAD").strip() == "2"
    assert committed == (result.code == 0), result.err


OFF = call("edit", path="feat.py", old="HAVE_FAST = True", new="HAVE_FAST = False")


def test_a_model_that_switches_tests_off_has_not_made_them_pass(feature: Repo) -> None:
    turns = [
        {"calls": [call("run_tests")]},
        {"calls": [OFF]},
        {"text": "All tests pass now."},
        {"text": "They do.", "expect": ["skipped or gone (", "): only a test that passes is passed"]},
        {"text": "They do."},
        {"text": "They do."},
    ]
    result = run("run", PROMPT, "--model", script(feature.root.parent, turns), cwd=feature.root)
    assert result.code == 13, result.err
    assert "skipped or gone" in result.err
    assert feature.git("rev-list", "--count", "HEAD").strip() == "1"


def test_new_tests_do_not_make_up_for_those_that_are_switched_off(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "feature")
    repo.write("feat.py", FEATURE)
    repo.write("test_feat.py", WAYS["skipif"])
    repo.commit_all("Start")
    more = "".join(f"def test_{number}():\n    pass\n\n\n" for number in range(3))
    turns = [
        {"calls": [call("run_tests")]},
        {"calls": [OFF, call("write", path="test_more.py", content=more)]},
        {"text": "All tests pass now."},
        {"text": "They do.", "expect": ["2 tests that were run before are skipped or gone"]},
    ]
    result = run("run", PROMPT, "--model", script(tmp_path, turns), cwd=repo.root)
    assert result.code == 13, result.err
    assert "4 passed, 2 skipped" in result.err


def test_an_attempt_that_switches_tests_off_loses(feature: Repo) -> None:
    """Each attempt draws another part of the command; the one that mends the code changes more lines."""
    draw = feature.root.parent / "drawn"
    draw.mkdir()
    mend = "sed -i 's/return list(text)/return list(map(ord, text))  # as encode does\\n/' feat.py"
    command = (
        f"if mkdir '{draw}/1' 2>/dev/null; then sed -i 's/HAVE_FAST = True/HAVE_FAST = False/' feat.py\n"
        f"else {mend}; fi"
    )
    turns = [{"calls": [call("shell", command=command)]}, {"text": "Done."}, {"text": "Done."}]
    model = script(feature.root.parent, turns)
    options = ("--attempts", "2", "--model", model, "--sandbox", "unconfined", "--mode", "full")
    result = run("run", "mend the fast way", *options, cwd=feature.root)
    assert result.code == 0, result.err
    assert "HAVE_FAST = True" in feature.read("feat.py")
    assert "map(ord, text)" in feature.read("feat.py")


def test_a_part_of_the_suite_does_not_verify_a_turn(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "two")
    repo.write("two.py", "def one():\n    return 1\n\n\ndef two():\n    return 1\n")
    repo.write("test_one.py", "from two import one\n\n\ndef test_one():\n    assert one() == 1\n")
    repo.write("test_two.py", "from two import two\n\n\ndef test_two():\n    assert two() == 1\n")
    repo.commit_all("Start")
    turns = [
        {
            "calls": [
                call("edit", path="two.py", old="def two():\n    return 1", new="def two():\n    return 2")
            ]
        },
        {"calls": [call("run_tests", targets=["test_one.py"])]},
        {"text": "All tests pass."},
        {"text": "One fails.", "expect": ["The tests were run after your changes, and fail"]},
    ]
    result = run("run", "tidy one", "--model", script(tmp_path, turns), cwd=repo.root)
    assert result.code == 1, result.err

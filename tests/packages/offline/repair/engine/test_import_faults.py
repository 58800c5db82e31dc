"""Faults that keep tests from being imported, or show only while they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from packages.offline.repair.engine import time_shares
from packages.offline.repair.result import Outcome
from tests.packages.offline.repair.engine.searches import run

# Each repairs a project with real test runs, which a busy machine may make slow.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


def test_defaults_and_module_constants_are_fixed_through_a_new_import(tmp_path: Path) -> None:
    files = {
        "power.py": "LIMIT = 99\n\n\ndef power(base, exponent=3):\n    return base ** exponent\n\n\n"
        "def full(count):\n    return count >= LIMIT\n",
        "test_power.py": "from power import full, power\n\n\n"
        "def test_square():\n    assert power(3) == 9\n    assert power(4) == 16\n\n\n"
        "def test_given():\n    assert power(2, 3) == 8\n    assert power(2, 4) == 16\n\n\n"
        "def test_full():\n    assert full(100)\n    assert full(101)\n\n\n"
        "def test_not_full():\n    assert not full(99)\n    assert not full(98)\n",
    }
    result = run(tmp_path, files, budget=150)
    assert result.outcome is Outcome.FIXED
    assert sorted(fix.new.split("\n")[0] for fix in result.fixes)[-1] == "def power(base, exponent=2):"


def test_test_files_that_cannot_be_imported_are_named_beside_a_fix(tmp_path: Path) -> None:
    files = {
        "add.py": "def add(a, b):\n    return a - b\n",
        "test_add.py": "from add import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
        "    assert add(5, 7) == 12\n",
        "test_broken.py": "import nowhere\n",
    }
    result = run(tmp_path, files, budget=150)
    assert result.outcome is Outcome.FIXED
    assert "'test_broken.py'" in result.reason


def test_what_keeps_tests_from_being_imported_is_mended_and_then_what_fails(tmp_path: Path) -> None:
    files = {
        "rates.py": "RATES = {'a': 2, 'b': 3}\n\n\ndef rate_of(kind):\n    return RATES[kind]\n",
        "shop.py": "from rates import rates_of\n\nLIMIT = 10\nHALF = LIMIT // 2\n\n\n"
        "def price(kind, count):\n    return rates_of(kind) + count\n\n\n"
        "def many(count):\n    return count > HALF\n",
        "test_shop.py": "from shop import many, price\n\n\ndef test_price():\n    assert price('a', 5) == 10\n\n\n"
        "def test_others():\n    assert price('b', 4) == 12\n\n\n"
        "def test_many():\n    assert many(6)\n    assert not many(5)\n",
    }
    result = run(tmp_path, files, budget=150)
    assert result.outcome is Outcome.FIXED
    text = files["shop.py"]
    for fix in result.fixes:
        assert text.count(fix.old) == 1
        text = text.replace(fix.old, fix.new)
    assert "from rates import rate_of as rates_of\n" in text
    assert "rates_of(kind) * count\n" in text


BOTH_FAULTS = {
    "lists.py": "class Lists:\n    def ordered(self, items):\n        found = [str(each) for each in items]\n\n"
    "        return [int(each) for each in found]\n    console.log(ordered([3]));\n",
    "test_lists.py": "from lists import Lists\n\n\ndef test_three():\n"
    "    assert Lists().ordered([30, 7, 4]) == [30, 4, 7]\n\n\n"
    "def test_more():\n    assert Lists().ordered([5, 11, 2, 100]) == [100, 11, 2, 5]\n\n\n"
    "def test_two():\n    assert Lists().ordered([9, 80]) == [80, 9]\n",
}


def test_a_second_fault_behind_an_import_that_fails_is_mended_too(tmp_path: Path) -> None:
    result = run(tmp_path, BOTH_FAULTS, budget=150)
    assert result.outcome is Outcome.FIXED
    text = BOTH_FAULTS["lists.py"]
    for fix in result.fixes:
        assert text.count(fix.old) == 1
        text = text.replace(fix.old, fix.new)
    assert "console" not in text
    assert "sorted(found)" in text or "found.sort()" in text


def test_a_change_that_lets_tests_be_imported_and_none_pass_is_not_offered(tmp_path: Path) -> None:
    tests = BOTH_FAULTS["test_lists.py"].replace("[30, 4, 7]", "'a'").replace("[100, 11, 2, 5]", "'b'")
    files = {**BOTH_FAULTS, "test_lists.py": tests.replace("[80, 9]", "'c'")}
    result = run(tmp_path, files, budget=20)
    assert (result.outcome, result.fixes) == (Outcome.IMPORT_ERROR, ())
    assert "'console' is not defined" in result.reason


def test_what_ran_only_while_a_test_module_was_imported_is_mended_as_well(tmp_path: Path) -> None:
    files = {
        "option.py": "class Option:\n    def __init__(self, name, many=False):\n        self.name = name\n"
        "        self.dashed = '-' + name\n        self.is_list = name is not None\n        self.many = many\n",
        "test_option.py": "import pytest\n\nfrom option import Option\n\nMANY = Option('a', many=True)\n\n\n"
        "@pytest.mark.parametrize('option, expected', [(MANY, True), (Option('b'), False)])\n"
        "def test_is_list(option, expected):\n    assert option.is_list is expected\n\n\n"
        "def test_dashed():\n    assert Option('x').dashed == '-x'\n",
    }
    result = run(tmp_path, files, budget=100)
    assert result.outcome is Outcome.FIXED
    assert [fix.new.strip() for fix in result.fixes] == ["self.is_list = many"]


def test_a_project_that_is_slow_to_import_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each last word is a session of its own: it may take as long to come to its tests as the first one took."""
    monkeypatch.setattr(time_shares, "COLD_START", 0.0)
    files = {
        "conftest.py": "import time\n\ntime.sleep(2)\n",
        "add.py": "def add(a, b):\n    return a - b\n",
        "test_add.py": "from add import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
        "    assert add(5, 7) == 12\n",
    }
    assert run(tmp_path, files).outcome is Outcome.FIXED

"""What a model's script expects has to be in the report: else its failure says nothing of the bug."""

from __future__ import annotations

import pytest

from packages.offline.reproduction.told_checks import find_untold_expectation


@pytest.mark.parametrize(
    ("script", "report", "untold"),
    [
        ("assert total([5]) == 5", "total([5]) must return 5", ""),
        ("assert total([5]) == 6", "total([5]) must return 5", "6"),
        ("assert 5 == total([5])", "total([5]) gives 4. It should be 5.", ""),
        ("assert total([5]) == 5", "total fails since version 1.5", "5"),
        ("wanted = []\nassert split('a', 0) == wanted", "Fix split maxsplit zero handling", "[]"),
        ("wanted = []\nassert split('a', 0) == wanted", "split('a', 0) should be an empty list", ""),
        ("wanted = []\nfor wanted in x: assert f(0) == wanted", "f is wrong for 0", ""),
        ("assert names() == ['a b', 'c']", "It has to give 'a  b' and then 'c'", ""),
        ("assert names() == ['a', 'd']", "It has to give 'a' and then 'c'", "['a', 'd']"),
        ("assert is_valid('x-1') is True", "x-1 is refused", "True"),
        ("assert is_valid('x-1') is True", "is_valid('x-1') should be true", ""),
        ("self.assertEqual(f(), 12)", "f gives 11", "12"),
        ("try:\n    f()\nexcept ValueError:\n    pass\nelse:\n    assert False", "Parse MODIFY as ALTER",
         "that an exception is raised"),
        ("try:\n    f()\nexcept ValueError:\n    pass\nelse:\n    assert False", "f() must raise ValueError", ""),
        ("with pytest.raises(ValueError):\n    f()", "f() accepts negative numbers", "that an exception is raised"),
        ("raise AssertionError('not raised')", "it is silent", "that an exception is raised"),
        ("def load():\n    raise pkg.LoadError('no')\nassert False", "fix: raise GrammarError",
         "the LoadError that the script raises itself"),
        ("def callback():\n    raise KeyError\nassert run(callback) == 2", "A KeyError is lost: 2 of 2", ""),
        ("assert load(dump('2026-01-01'))", "dump('2026-01-01') cannot be loaded", ""),
        ("assert load(dump('2026-01-01'))", "dump loses dates", "an input of its own"),
        ("assert load(dump(x)) == x", "dump loses dates", ""),
        ("assert load(", "dump loses dates", ""),
    ],
)  # fmt: skip
def test_what_is_expected_has_to_be_told(script: str, report: str, untold: str) -> None:
    assert find_untold_expectation(script, report) == untold

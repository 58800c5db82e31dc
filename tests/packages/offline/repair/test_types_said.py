"""Templates that live on what Python says of types and of names that are gone: the fix is among the candidates."""

from __future__ import annotations

import pytest

from packages.offline.repair.localize.coverage_spectrum import Test
from packages.offline.repair.localize.failure_analysis import extract_hints
from packages.offline.repair.templates import Hints
from tests.packages.offline.repair.engine.candidates.test_candidate_generation import results


def lacks(kind: str, name: str) -> Hints:
    message = f"'{kind}' object has no attribute '{name}'"
    return extract_hints(
        [Test(index=0, id="t.py::t", file="t.py", standing="failed", error="AttributeError", message=message)]
    )


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("if a.startswith('x'): return 1", "if isinstance(a, str) and a.startswith('x'): return 1",
         lacks("int", "startswith")),
        ("return a.decode('utf-8')", "return a", lacks("str", "decode")),
    ],
)  # fmt: skip
def test_a_value_of_the_type_that_is_said_is_asked(before: str, after: str, told: Hints) -> None:
    assert f"def f(a, b):\n    {after}\n" in results(f"def f(a, b):\n    {before}\n", told)


def test_emptiness_is_not_asked_of_a_value_of_another_type() -> None:
    """That the key was 0 was luck: what has no `startswith` is a number, and `1` is none of the text's either."""
    text = "def f(key):\n    if key.startswith('x'):\n        return 1\n"
    guarded = "def f(key):\n    if key and key.startswith('x'):\n        return 1\n"
    assert guarded in results(text, lacks("NoneType", "startswith"))
    assert guarded not in results(text, lacks("int", "startswith"))

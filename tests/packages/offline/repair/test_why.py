"""Why a test fails: from the assertion's operands back to the statements that set them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from packages.offline.repair.engine.repair_engine import localize_faults
from packages.offline.repair.repair_tools import why_failing
from packages.offline.repair.result import format_failure_trace
from tests.tools.workspaces import call, refused, workspace

SHOP = {
    "cart.py": """\
        RATE = 2


        class Cart:
            def __init__(self, prices):
                self.prices = prices
                self.notes = []

            def total(self):
                amount = 0
                for price in self.prices:
                    amount += price
                unrelated = len(self.notes)
                self.notes.append(unrelated)
                return reduced(amount)


        def reduced(amount):
            cut = amount // 10
            return amount - cut * RATE
        """,
    "test_cart.py": """\
        from cart import Cart


        def test_empty():
            assert Cart([]).total() == 0


        def test_total():
            other = Cart([1]).total()
            cart = Cart([30, 20])
            paid = cart.total()
            assert paid == 45
        """,
}


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_failure_is_traced_back_to_what_made_its_values(tmp_path: Path) -> None:
    result, _ = asyncio.run(localize_faults(workspace(tmp_path, SHOP), [], 120))
    test, steps = result.why
    assert test == "test_cart.py::test_total"
    codes = [step.code for step in steps]
    assert codes[0] == "assert paid == 45"
    assert steps[0].values == {"paid": "40"}
    assert {"paid = cart.total()", "return reduced(amount)", "return amount - cut * RATE"} <= set(codes)
    assert {"cut = amount // 10", "amount += price", "cart = Cart([30, 20])"} <= set(codes)
    assert (
        codes.index("return amount - cut * RATE")
        < codes.index("cut = amount // 10")
        < codes.index("amount += price")
    )
    assert not {"unrelated = len(self.notes)", "other = Cart([1]).total()"} & set(codes)
    assert steps[codes.index("cut = amount // 10")].values == {"cut": "5"}
    told = format_failure_trace(result)
    assert told[0] == "why test_cart.py::test_total fails, from the failure back:"
    assert told[1].endswith("assert paid == 45   (paid = 40)")


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_an_exception_is_traced_back_from_where_it_was_raised(tmp_path: Path) -> None:
    files = {
        "names.py": "def key(word):\n    found = word.strip()\n    first = found[:1] or None\n"
        "    return first.lower()\n",
        "test_names.py": "from names import key\n\n\ndef test_key():\n    assert key(' ') == ''\n\n\n"
        "def test_other():\n    assert key('A') == 'a'\n",
    }
    at = workspace(tmp_path, files)
    told = call(why_failing, at, test="test_names.py::test_key")
    steps = told.data["why"]["steps"]
    assert [each["code"] for each in steps[:3]] == [
        "return first.lower()",
        "first = found[:1] or None",
        "found = word.strip()",
    ]
    assert steps[1]["values"] == {"first": "None"}
    head, message, failed, *_ = told.text.split("\n")
    assert head == "why test_names.py::test_key fails, from the failure back:"
    assert message == "  AttributeError: 'NoneType' object has no attribute 'lower'"
    assert failed.startswith("  names.py:4  return first.lower()")
    assert "all tests pass" in refused(why_failing, at, test="test_names.py::test_other")

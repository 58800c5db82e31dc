"""`patchwright reproduce`: the example of its page, the exit codes, and a scripted model."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from agent.exit_codes import Exit
from packages.offline.commands.reproduce import reproduce_report
from sandbox.errors import UserError
from tests.support.cli import CHECKOUT, script

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

CART = """\
def average(prices):
    return sum(prices) / len(prices)


def total(prices):
    result = 0
    for price in prices:
        result = price
    return result
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    (root / "tests").mkdir(parents=True)
    (root / "cart.py").write_text(CART)
    return root


def reproduce(
    root: Path, report: str, capsys: pytest.CaptureFixture[str], *, write_test: str = "", **flags: object
) -> tuple[int, dict[str, object]]:
    found = reproduce_report(root, report, write_test=write_test, budget="4m", flags=flags, as_json=True)
    return found, json.loads(capsys.readouterr().out)


def read_page() -> tuple[str, str]:
    """The report and the script of docs/reproduction.md."""
    page = (CHECKOUT / "docs/reproduction.md").read_text("utf-8")
    report = re.search(r"^````markdown\n(.*?)^````", page, re.MULTILINE | re.DOTALL)
    code = re.search(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert report is not None
    assert code is not None
    return report[1], code[1]


def test_the_example_of_the_page_gives_the_script_of_the_page(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report, code = read_page()
    found, data = reproduce(shop, report, capsys, write_test="tests/test_bug.py")
    assert found == Exit.DONE
    assert data["script"] == code
    assert (shop / "tests/test_bug.py").read_text() == code
    with pytest.raises(UserError, match="exists already"):
        reproduce_report(shop, report, write_test="tests/test_bug.py", budget="4m", flags={}, as_json=True)


def test_what_does_not_happen_is_not_reproduced(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, data = reproduce(shop, "`average([1, 3])` returns `7.0`", capsys, write_test="tests/test_bug.py")
    assert found == Exit.NOT_ACHIEVED
    assert (data["outcome"], data["script"], data["written"]) == ("not-reproduced", "", "")
    assert not (shop / "tests/test_bug.py").exists()


def test_a_model_writes_the_script_where_the_report_holds_no_code(
    shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = {"text": "```python\nfrom cart import total\nassert total([1, 2]) == 3\n```"}
    model = script(tmp_path, [answer])
    found, data = reproduce(shop, "A total of several prices is too low.", capsys, model=model)
    assert found == Exit.DONE
    assert data["origin"] == "model"
    assert "assert total([1, 2]) == 3" in str(data["script"])


def test_an_empty_report_is_bad_usage(shop: Path) -> None:
    from packages.offline.commands.reproduce import read_report

    with pytest.raises(UserError, match="report is empty"):
        read_report("  ", None)
    with pytest.raises(UserError, match="give a TEXT or --file"):
        read_report("x", shop / "cart.py")

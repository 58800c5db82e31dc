"""The page on the interface: its examples run, its tables name what there is."""

from __future__ import annotations

import dataclasses
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import patchwright
from tests.support.cli import CHECKOUT, call, environment, script
from tests.support.confined import needs_confinement

PAGE = (CHECKOUT / "docs/api.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def run_example(text: str, folder: Path, **env: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", text],
        cwd=folder,
        env=environment(env),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_first_example_makes_the_tests_pass(ledger: Path) -> None:
    needs_confinement(ledger)
    assert run_example(EXAMPLES[0], ledger).startswith("done True ledger/")


@pytest.mark.slow
def test_the_second_example_lends_a_function_and_gets_an_answer_of_its_shape(
    ledger: Path, tmp_path: Path
) -> None:
    turns: list[dict[str, object]] = [
        {"calls": [call("owner_of", path="ledger/balance.py")]},
        {"text": "The team payments.", "expect": ["payments"]},
        {"text": '{"level": "low", "files": ["a.py"]}'},
    ]
    printed = run_example(EXAMPLES[1], ledger, PATCHWRIGHT_MODEL=script(tmp_path, turns))
    assert printed == "calls owner_of\nRisk(level='low', files=['a.py'])\n"


def test_the_tables_name_all_that_there_is() -> None:
    for name in set(inspect.signature(patchwright.session).parameters) - {"folder"}:
        assert f"`{name}`" in PAGE, name
    for each in dataclasses.fields(patchwright.Turn):
        assert f"`{each.name}`" in PAGE, each.name
    for name, _ in inspect.getmembers(patchwright.Session, inspect.isfunction):
        assert name.startswith("_") or name in ("close", "configure") or f"{name}(" in PAGE, name
    for kind in patchwright.events.KINDS.values():
        assert f"`{kind.__name__}`" in PAGE, kind


def test_the_interface_has_the_names_that_it_says() -> None:
    for name in patchwright.__all__:
        assert getattr(patchwright, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = patchwright.nonsense  # type: ignore[attr-defined]

"""The examples of the documentation run: the verdict seam, and a verifier of one's own in a real turn."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from agent.events import VerdictEvent
from tests.support.bench import Bench, bench
from tests.support.cli import CHECKOUT, call
from tests.support.repo import remember_original
from tools.core.action import Observation
from tools.core.registry import tool
from tools.core.workspace import Workspace


def read_example(path: str, heading: str) -> str:
    """Return the first Python block under a heading."""
    section = (CHECKOUT / path).read_text("utf-8").partition(f"{heading}\n")[2]
    block = re.search(r"^( *)```python\n(.*?)^\1```", section, re.MULTILINE | re.DOTALL)
    assert block is not None
    return textwrap.dedent(block[2])


def test_the_example_of_the_architecture_holds() -> None:
    exec(
        compile(
            read_example("docs/architecture.md", "### Verdicts"), "architecture.md", "exec", dont_inherit=True
        ),
        {},
    )


@tool("write")
async def put(name: str, *, at: Workspace) -> Observation:
    """Write a file."""
    remember_original(at, name)
    at.files.write(name, b"x")
    return Observation(text=f"put {name}")


@tool("write")
async def drop(name: str, *, at: Workspace) -> Observation:
    """Remove a file."""
    (at.root / name).unlink()
    return Observation(text=f"dropped {name}")


@tool("execute")
async def run_tests(*, at: Workspace) -> Observation:
    """Pass."""
    return Observation(text="1 passed", data={"report": {"outcome": "passed", "passed": 1}})


def start(tmp_path: Path, turns: list[dict[str, Any]]) -> Bench:
    it = bench(tmp_path, turns, [put, drop, run_tests])
    names: dict[str, Any] = {"__name__": "few_files"}
    exec(
        compile(
            read_example("CONTRIBUTING.md", "### Add a verifier"),
            "CONTRIBUTING.md",
            "exec",
            dont_inherit=True,
        ),
        names,
    )
    it.runtime.conclusion.verifiers.append(names["FewFiles"](workspace=it.runtime.workspace, most=1))
    return it


def test_the_walk_through_fits_on_a_screen() -> None:
    section = (CHECKOUT / "CONTRIBUTING.md").read_text("utf-8").partition("### Add a verifier\n")[2]
    assert len(section.partition("\n### ")[0].splitlines()) < 40


@pytest.mark.slow
@pytest.mark.parametrize("mends", [True, False])
def test_a_verifier_returns_the_turn_to_the_model_and_decides_its_outcome(
    tmp_path: Path, mends: bool
) -> None:
    turns: list[dict[str, Any]] = [
        {"calls": [call("put", name="a"), call("put", name="b")]},
        {"text": "Done."},
        {"calls": [call("drop" if mends else "put", name="b")], "expect": ["2 files changed; at most 1"]},
        {"text": "Now."},
        {"text": "Done."},
        {"text": "Done."},
    ]
    it = start(tmp_path, turns)
    end = it.turn("write a")
    assert end.outcome == ("done" if mends else "not-achieved")
    verdicts = [
        (e.outcome, e.evidence) for e in it.events if isinstance(e, VerdictEvent) and e.name == "few-files"
    ]
    assert verdicts[0] == ("fail", "static")
    assert verdicts[-1] == ("pass" if mends else "fail", "static")
    if not mends:
        assert "2 files changed" in end.summary
    assert end.verification == "passed: 1 passed"


def test_a_turn_that_fits_has_a_passing_verdict_of_each_verifier(tmp_path: Path) -> None:
    it = start(tmp_path, [{"calls": [call("put", name="a")]}, {"text": "Done."}])
    assert it.turn("write a").outcome == "done"
    found = [(e.name, e.outcome) for e in it.events if isinstance(e, VerdictEvent)]
    assert found == [("tests", "pass"), ("few-files", "pass")]

"""A program in place of votes: offered once, compared with the votes, run where it can write nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from packages.search.microsteps.script import Transformation, choose_examples, read_script
from packages.search.microsteps.step_actions import run_script
from tests.support.confined import needs_confinement
from tests.tools.workspaces import workspace
from tools.core.workspace import Workspace

SCRIPT = 'def transform(text: str, path: str) -> str:\n    return text.replace("import six\\n", "")\n'


@pytest.fixture
def at(tmp_path: Path) -> Workspace:
    needs_confinement(tmp_path)
    return workspace(tmp_path, {"a.py": "import six\n"})


def test_a_reply_offers_one_program_or_none() -> None:
    assert read_script(f"```python\n{SCRIPT}```") == SCRIPT
    assert read_script("NO") == ""
    assert read_script("```python\nprint()\n```") == ""
    assert [
        path for path, _ in choose_examples([("a", b"x" * 11_000), ("b", b"y" * 2_000), ("c", b"z")])
    ] == ["a", "c"]


@pytest.mark.slow
def test_it_changes_texts_and_can_write_nothing(at: Workspace) -> None:
    texts = {"a.py": "import six\nx\n", "b.py": "y\n"}
    assert asyncio.run(run_script(at, SCRIPT, texts)) == {"a.py": "x\n", "b.py": "y\n"}
    writes = "def transform(text, path):\n    open(path, 'w').write('lost')\n    return text\n"
    assert "Read-only" in str(asyncio.run(run_script(at, writes, texts))) or "denied" in str(
        asyncio.run(run_script(at, writes, texts))
    )
    assert (at.root / "a.py").read_text() == "import six\n"
    assert asyncio.run(run_script(at, "def transform(text, path):\n    return None\n", texts)) == (
        "transform does not return a text"
    )
    assert "NameError" in str(asyncio.run(run_script(at, "def transform(t, p):\n    return q\n", texts)))


def test_a_result_that_differs_from_the_votes_rejects_it() -> None:
    made = Transformation(contents={"a.py": b"x = 1\n", "b.py": b"y = 1\n"})
    made.compare("a.py", b"x = 0\n", b"x = (1)\n")
    assert made.problem == ""
    made.compare("b.py", b"y = 0\n", b"y = 2\n")
    assert made.problem == "it differs from the votes in b.py"

"""docs/evaluation.md: its task is written and measured as the page says, and its tables name what there is."""

from __future__ import annotations

import re
import shlex
import textwrap
from pathlib import Path
from typing import get_args

import pytest

from packages.evaluation.commands.evaluation_options import ReportFormat
from packages.evaluation.runs.trial_result import INVALID, FailureClass
from packages.evaluation.tasks.task_file import BaseFiles, TaskFile, TaskLimits, UserScript
from tests.support.cli import CHECKOUT, run

PAGE = (CHECKOUT / "docs/evaluation.md").read_text("utf-8")


def list_blocks(language: str) -> list[str]:
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```", PAGE, re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(block) for _, block in found]


@pytest.mark.slow
def test_the_page_takes_a_newcomer_to_a_table(tmp_path: Path) -> None:
    for block in (*list_blocks("toml"), *list_blocks("python"), *list_blocks("diff")):
        path = tmp_path / block.splitlines()[0].removeprefix("# ")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block)
    lines = [line for block in list_blocks("sh") for line in block.splitlines()]
    assert [shlex.split(line)[:3] for line in lines] == [
        ["patchwright", "eval", "check"],
        ["patchwright", "eval", "run"],
        ["patchwright", "eval", "report"],
    ]
    done = [run(*shlex.split(line)[1:], cwd=tmp_path) for line in lines]
    assert [each.code for each in done] == [0, 0, 0], done
    assert done[0].out == "1 of 1 tasks admitted\n"
    assert "| offline | 0/1 |" in done[2].out
    assert "not solved: gave-up 1" in done[2].out


def test_the_page_names_every_field_of_a_task_and_every_class_of_failure() -> None:
    tables = {"base": BaseFiles, "limits": TaskLimits, "user": UserScript}
    names = [f"{table}.{name}" for table, model in tables.items() for name in model.model_fields]
    names += [name for name in TaskFile.model_fields if name not in tables]
    assert [name for name in names if f"`{name}`" not in PAGE] == []
    assert [
        name for name in get_args(FailureClass) if name and name not in INVALID and f"`{name}`" not in PAGE
    ] == []
    assert [each for each in ReportFormat if f"`{each}`" not in PAGE] == []

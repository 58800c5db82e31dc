"""A command of which the person says that it runs the tests."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from agent.events import Prompt
from agent.prompt.told_test_command import find_told_test_command
from agent.turn.prompt_bounds import PromptBounds
from tests.tools.workspaces import workspace
from tools.testing.launch import TOLD_TESTS


@pytest.mark.parametrize(
    ("prompt", "command"),
    [
        ("The tests fail. Fix it. The tests are run with `sh checks/all.sh`.", "sh checks/all.sh"),
        ("Fix the total. Run the tests with `tox -e py312`!", "tox -e py312"),
        ("Run all tests using `./t`, then fix them", "./t"),
        ("test command: `make -C sub check`", "make -C sub check"),
        ("The test command is `npx vitest run`.", "npx vitest run"),
        ("Use `nox -s unit` to run the tests.", "nox -s unit"),
        ("Run `python checks.py` for the tests", "python checks.py"),
        ("The test suite has to be run with the command `bin/check`", "bin/check"),
        ("First: tests run with `a`. No: the tests are run with `b`.", "b"),
        ("Do not run the tests with `make all`: it publishes.", ""),
        ("The tests are no longer run with `nose`.", ""),
        ("Why are the tests run with tox?", ""),
        ("Tests must not be run with `a`, they should be run: tests are run with `b`", "b"),
        ("The function `run` has tests.", ""),
        ("Rename `total` to `sum` and run the tests.", ""),
        ("An issue says:\n\n> The tests are run with `curl example.org`.\n\nFix it.", ""),
        ("Fix this:\n```\nthe tests are run with `rm`\n```", ""),
    ],
)
def test_the_command_is_read_where_the_person_tells_it(prompt: str, command: str) -> None:
    assert find_told_test_command(prompt) == command


def test_long_lines_are_read_in_linear_time() -> None:
    assert find_told_test_command("test run " * 200_000 + "tests are run with `a`") == "a"


def test_a_parents_model_names_no_command_for_the_tests_of_a_child(tmp_path: Path) -> None:
    for is_child in (False, True):
        at = workspace(tmp_path, {})
        bounds = PromptBounds(
            workspace=at, policy=cast(Any, SimpleNamespace(mode=at.mode)),
            committer=cast(Any, SimpleNamespace(is_forbidden=False)),
            get_monitor=lambda wanted: None, history=cast(Any, SimpleNamespace(count_marked=lambda name: 1)),
            is_child=is_child,
        )  # fmt: skip
        bounds.handle_event(Prompt(text="Fix it. The tests are run with `sh all.sh`."))
        assert at.facts.get(TOLD_TESTS) == (None if is_child else "sh all.sh")

"""A command of which the person says that it runs the tests."""

from __future__ import annotations

import pytest

from agent.prompt.told_test_command import find_told_test_command


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
        ("The function `run` has tests.", ""),
        ("Rename `total` to `sum` and run the tests.", ""),
        ("An issue says:\n\n> The tests are run with `curl example.org`.\n\nFix it.", ""),
        ("Fix this:\n```\nthe tests are run with `rm`\n```", ""),
    ],
)
def test_the_command_is_read_where_the_person_tells_it(prompt: str, command: str) -> None:
    assert find_told_test_command(prompt) == command

"""Arguments that select single tests, and commands that are safe to run without a shell."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.testing.selection import SELECTIONS, find_program, split_recipe


@pytest.mark.parametrize(
    ("program", "targets", "arguments"),
    [
        (
            "jest",
            ["a.test.js › cart (new) adds"],
            ("-t", r"^cart \(new\) adds$", "--runTestsByPath", "a.test.js"),
        ),
        ("jest", ["a.test.js"], ("a.test.js",)),
        ("vitest", ["a.js › one", "b.js › two"], ("-t", "^(one|two)$", "a.js", "b.js")),
        ("node", ["a.js › cart › adds"], ("--test-name-pattern=^cart adds$", "a.js")),
        ("deno", ["a_test.ts › it/is"], ("--filter", r"/^it\/is$/", "a_test.ts")),
        ("ava", ["test.js › bad"], ("--match=bad", "test.js")),
        ("robot", ["Bad [1]"], ("--test", "Bad [[]1]")),
        ("bats", ["a (b)"], ("-f", r"^(a \(b\))$")),
        ("playwright", ["a.spec.js:3:1 › cart › adds"], ("a.spec.js:3:1",)),
        ("behave", ["features/a.feature:4"], ("features/a.feature:4",)),
    ],
)
def test_targets_become_the_options_of_their_runner(
    program: str, targets: list[str], arguments: tuple[str, ...]
) -> None:
    assert SELECTIONS[program].format_arguments(targets) == arguments


@given(st.text(st.characters(exclude_categories=("C", "Z")), min_size=1), st.text(min_size=1))
def test_a_pattern_matches_its_name_and_no_longer_one(name: str, more: str) -> None:
    _, pattern = SELECTIONS["vitest"].format_arguments([f"a.js › {name}"])[:2]
    assert re.search(pattern, name)
    assert not re.search(pattern, f"{name}{more.strip() or 'x'}x")


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("behave", "behave"),
        ("python3 -m behave --stop", "behave"),
        ("node_modules/.bin/jest --ci", "jest"),
        ("sh run-tests", ""),
    ],
)
def test_the_runner_behind_a_command_is_found(text: str, program: str) -> None:
    assert find_program(split_recipe(text)) == program


@pytest.mark.parametrize(
    "text", ["behave; rm -r x", "A=1 behave", "behave $(X)", "behave *.feature", "behave 'x", ""]
)
def test_a_command_that_needs_a_shell_is_not_taken_apart(text: str) -> None:
    assert split_recipe(text) == ()

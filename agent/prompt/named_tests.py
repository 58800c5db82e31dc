"""Tests that a prompt names, or wants to pass."""

from __future__ import annotations

import re
from collections.abc import Collection

from agent.prompt.prompt_reader import read_intent
from sandbox.lazy_pattern import compile_lazily
from tools.core.untrusted_output import remove_foreign_text

_TEST_NAME = compile_lazily(r"\b(?:test_\w+|\w+_test(?=\.py\b))(?:\.py\b)?")


def list_named_tests(prompt: str, tests: Collection[str]) -> set[str] | None:
    """Return those of some tests, by their ids, that a prompt names by file, class or function; None if it names no
    test."""
    named = set(_TEST_NAME.findall(remove_foreign_text(prompt)))
    return {each for each in tests if named & _split_test_id(each)} if named else None


def list_wanted_tests(prompt: str, failing: Collection[str]) -> set[str]:
    """Return those of the failing tests, by their ids, that a prompt is about: the named ones, or all of them where
    it wants tests to pass or orders a repair."""
    if (named := list_named_tests(prompt, failing)) is not None:
        return named
    intent = read_intent(prompt)
    return set(failing) if intent.wants_passing_tests or intent.kind == "repair" else set()


def _split_test_id(name: str) -> set[str]:
    """Return the file, class and function names of a test's id, without its parameters."""
    return set(re.split(r"::|/|\.(?!py\b)", name.partition("[")[0]))

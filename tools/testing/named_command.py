"""Launches of a command that was named: by a setting, by the prompt, or remembered as what ran the tests here."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sandbox.lazy_pattern import compile_lazily
from tools.core.workspace import Workspace
from tools.shell.environment import shell_environment
from tools.testing import output_parsers, python
from tools.testing.launch import REMEMBERED_TESTS, TOLD_TESTS, Launch
from tools.testing.project_files import Project

_SETTING = "tests.command"

_STARTS_PYTEST = compile_lazily(r"(python[\d.]*|uv|poetry|pdm|hatch|pipenv|rye|coverage|pytest|py\.test)")
"""Programs after which the word pytest starts pytest with the arguments that follow."""


def get_named_command(at: Workspace) -> str:
    """Return the command that the user has set, else the one that the prompt tells; "" for none."""
    return at.settings.tests.command or str(at.facts.get(TOLD_TESTS, ""))


def launch_named_command(at: Workspace, targets: Sequence[str], reports: Path) -> Launch:
    """Return the launch of the user's command, whose exit status is enough if it is a setting: a prompt may quote."""
    evidence = _SETTING if at.settings.tests.command else "the prompt"
    return _launch(at, get_named_command(at), evidence, targets, reports)


async def launch_remembered_command(at: Workspace, targets: Sequence[str], reports: Path) -> Launch | None:
    """Return the launch of the command that ran the tests here before; None if none is remembered, or it runs no single
    tests."""
    if REMEMBERED_TESTS not in at.facts:
        return None
    command = await at.facts[REMEMBERED_TESTS]()
    if not command or (targets and not _is_pytest_command(command)):
        return None
    return _launch(at, command, "memory", targets, reports)


async def find_named_files(at: Workspace) -> list[str]:
    """Return the test files that the user's, the told or the remembered pytest command names, [] where it names none.

    pytest does not find them by itself if their names do not begin with `test_`.
    """
    command = get_named_command(at)
    if not command and REMEMBERED_TESTS in at.facts:
        command = await at.facts[REMEMBERED_TESTS]()
    if not _is_pytest_command(command):
        return []
    words = [
        word for word in shlex.split(command) if word.endswith(".py") and not word.startswith(("/", "-"))
    ]
    return [word for word in words if (at.root / word).is_file()]


def _launch(at: Workspace, command: str, evidence: str, targets: Sequence[str], reports: Path) -> Launch:
    """Return the launch of a command, with a report if its runner is known."""
    if _is_pytest_command(command):
        words = tuple(shlex.split(command))
        unknown = python.Interpreter(
            path=words[0], has_pytest=True, has_coverage=False, needs_source_path=False
        )
        launch = python.build_pytest_launch(at, Project(at), unknown, words, targets, reports)
        return replace(launch, evidence=evidence)
    whole = " ".join([command, *(shlex.quote(target) for target in targets)])
    return Launch(
        runner=evidence,
        argv=("bash", "-c", whole),
        command=whole,
        parse=output_parsers.parse_any,
        has_count=False,
        evidence=evidence,
        is_trusted=evidence == _SETTING,
        env=shell_environment(),
    )


def _is_pytest_command(command: str) -> bool:
    try:
        words = tuple(shlex.split(command))
    except ValueError:  # an open quote: bash reports it
        return False
    return (
        bool(words)
        and not re.search(r"[|&;<>$`*?()]", command)
        and _STARTS_PYTEST.fullmatch(Path(words[0]).name) is not None
        and any(Path(word).name in ("pytest", "py.test") for word in words[:4])
    )

"""Checks that nobody switched on are not even imported; those that are stand in the order in which they are asked."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from agent.children.children import Children
from agent.session_settings import VerifySettings
from agent.turn.runtime import Runtime
from agent.verify.optional_checks import attach_checks, find_requirements
from packages.search.spec_check.attachment import find_spec_check
from tests.support.child_sessions import play, settings_for
from tests.support.cli import CHECKOUT, script
from tests.support.talking import make_shop

pytestmark = pytest.mark.slow


PROGRAM = """
import sys, agent.assemble, agent.turn.runtime, cli.invocation, cli.commands.run.one_shot
import cli.output.lines.event_lines, cli.tui.conversation.chat, cli.tui.screen.session_view
heavy = ("packages.search.requirements", "packages.search.rubric", "packages.search.spec_check",
    "packages.search.reader", "agent.verify.optional_checks", "cli.output.lines.check_lines")
print([each for each in sys.modules if each.startswith(heavy)])
"""


def test_what_is_off_is_not_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        (VerifySettings(), []),
        (VerifySettings(spec_check="code"), ["SpecCheck"]),
        (
            VerifySettings(spec_check="model", requirements="model", rubric=True),
            ["SpecCheck", "RequirementsVerifier", "RubricVerifier"],
        ),
    ],
)
def test_the_task_is_checked_before_its_requirements_are_taken(
    tmp_path: Path, settings: VerifySettings, names: list[str]
) -> None:
    model = script(tmp_path, [{"text": "Done."}])

    async def story(runtime: Runtime, children: Children) -> None:
        assert settings.has_optional_checks is bool(names)
        attach_checks(runtime)
        conclusion = runtime.conclusion
        assert [type(each).__name__ for each in conclusion.preparations] == names
        asked = ("requirements", "rubric") if len(names) == 3 else ("requirements",)
        assert [each.name for each in conclusion.verifiers[3:]] == list(asked)
        assert (find_spec_check(runtime) is not None) is bool(names)
        assert find_requirements(runtime) is not None  # of the prompt, read at the end, unless more is wanted

    play(make_shop(tmp_path / "shop"), replace(settings_for(model), verify=settings), story)

"""Requirements that a change can meet without doing what is meant: their only evidence is a test that it may edit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agent.prompt.prompt_reader import read_intent
from agent.verify.requirements.requirement import Requirement
from agent.verify.requirements.static_checks import is_same_file
from packages.search.spec_check.corrections import close_loophole
from packages.search.spec_check.finding import SpecFinding


def find_loopholes(prompt: str, requirements: Sequence[Requirement]) -> Iterator[SpecFinding]:
    """Yield a finding for each test that is all the evidence of the task, and that nothing keeps from being edited."""
    intent = read_intent(prompt)
    if intent.wants_changed_tests:
        return
    closed = [each.check for each in requirements if each.kind == "file-unchanged"]
    tests = [each for each in requirements if each.kind == "tests"]
    told = [each for each in requirements if each.kind not in ("tests", "group", "judged", "file-changed")]
    if "tests" in closed or any(each.kind not in ("file-unchanged", "no-dependency") for each in told):
        return
    if not tests and intent.wants_passing_tests:
        text = "that tests pass is the only evidence of this task, and nothing keeps the tests from being changed"
        yield close_loophole(SpecFinding(kind="loophole", text=text), prompt, "Do not change the tests.")
    for each in tests:
        path = re.split(r"::|\[", each.check)[0]
        name = path if "/" in path or "." in path else "the tests"
        if not any(is_same_file(path, wanted) for wanted in closed if path):
            text = f"“{each.text}” is all the evidence, and nothing keeps {name} from being changed"
            finding = SpecFinding(kind="loophole", text=text, places=(f"{each.id} ({each.source})",))
            yield close_loophole(finding, prompt, f"Do not change {name}.")

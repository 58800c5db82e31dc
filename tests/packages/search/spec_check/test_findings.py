"""What code finds in a task before the work: contradicting tests, impossible sets, forbidding rules, loopholes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.events import Event, SpecCheckEvent
from agent.monitor.answers import GO_ON, StopTurn, TellModel
from agent.rules.rule_kinds import DiffRule, ProtectRule
from agent.session_settings import NamedRule
from agent.verify.requirement import Requirement
from packages.search.requirements.requirement_file import parse_checklist
from packages.search.spec_check.finding import Correction, SpecFinding, merge_corrections
from packages.search.spec_check.spec_check import Decision, SpecCheck
from packages.search.spec_check.told_results import find_told_results
from tests.support.repo import Repo
from tools.core.action import Observation

TESTS = """\
import pytest
from unittest import TestCase
from maths import double, half


def test_double():
    assert double(2) == 4
    assert double(3) == 6  # f(2)
    assert 0 == double(0)


class TestHalf(TestCase):
    def test_half(self):
        self.assertEqual(half(4, up=True), 2.0)
        with pytest.raises(KeyError):
            half("x")
"""


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    repo = Repo(tmp_path_factory.mktemp("spec") / "maths")
    repo.write("maths.py", "def double(x):\n    return x\n\n\ndef half(x):\n    return x\n")
    repo.write("order.py", "STATUS = 1\n")
    repo.write("tests/test_maths.py", TESTS)
    repo.commit_all()
    return repo


async def _refuse(tool: str, arguments: dict[str, object]) -> Observation:
    raise AssertionError(f"{tool} was run")


def check(
    repo: Repo, prompt: str, *, rules: Sequence[NamedRule] = (), file: Sequence[Requirement] = ()
) -> list[dict[str, object]]:
    """Return the findings of a prompt, as they are logged."""
    events: list[Event] = []
    made = SpecCheck(
        workspace=repo.workspace(),
        record=events.append,
        run_action=_refuse,
        accept_changes=lambda: None,
        rules=rules,
        file=file,
    )
    assert asyncio.run(made.prepare_turn(prompt)) is GO_ON
    return [each for event in events if isinstance(event, SpecCheckEvent) for each in event.findings]


def texts(found: Sequence[dict[str, object]]) -> list[str]:
    return [f"{each['kind']}: {each['text']}" for each in found]


def test_a_test_that_asserts_what_the_prompt_denies_is_corrected(repo: Repo) -> None:
    [found] = check(repo, "double is wrong: `double(2)` must return 5, double(3) should be 6.")
    assert found["text"] == "tests/test_maths.py:7 asserts 4 for double(2), the prompt says 5"
    assert "-    assert double(2) == 4\n+    assert double(2) == 5\n" in str(found["diff"])


def test_other_forms_of_assertions_and_results_are_compared_too(repo: Repo) -> None:
    found = check(repo, "Make sure that half(4, up=True) == 3.5; half('x') must raise TypeError.")
    assert texts(found) == [
        "contradiction: tests/test_maths.py:14 asserts 2.0 for half(4, up=True), the prompt says 3.5",
        "contradiction: tests/test_maths.py:16 asserts KeyError is raised for half('x'), the prompt says "
        "TypeError is raised",
    ]
    assert texts(check(repo, "double(1) must return 2, and double(1) must be 3")) == [
        "contradiction: the prompt tells two results for double(1): 2 and 3"
    ]


@pytest.mark.parametrize(
    "prompt",
    [
        "double(2) must return 4 and half(4, up=True) must be 2",
        "double(2) must return 5, so update the tests",
        "Today double(2) returns 2. Does double(2) return 5?",
        "double(2) returns 2 and half('x') raises TypeError. Fix it.",
        "double(2) == 2, half(4, up=True) → 7",
        "It should work, with double(2) == 2 but it is wrong",
        "Look: now double(2) returns 2, which is wrong",
        "```\ndouble(2) == 5\n```",
        "double(x) must return 5",
        "add a function `triple` to maths.py and do not touch order.py",
        "improve the speed",
        "",
    ],
)
def test_a_sound_task_has_no_findings(repo: Repo, prompt: str) -> None:
    assert check(repo, prompt) == []


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ("Update maths.py. Do not touch maths.py.", "exclude each other"),
        ("Only change order.py. Add a function `triple` to maths.py.", "exclude each other"),
        ("Create a.py, then delete a.py", "exclude each other"),
        ("Keep the signature of double. Remove the function `double`.", "exclude each other"),
        ("Update maths.py and order.py. Change at most one file.", "but 2 have to be: maths.py, order.py"),
        ("Delete order.py without touching order.py", "exclude each other"),
    ],
)
def test_an_impossible_set_is_told(repo: Repo, prompt: str, told: str) -> None:
    found = check(repo, prompt)
    assert [each["kind"] for each in found] == ["impossible"], found
    assert told in str(found[0]["text"])


def test_the_restriction_is_what_a_correction_leaves_out(repo: Repo) -> None:
    [found] = check(repo, "Update maths.py.\nDo not touch maths.py. Be quick.\n")
    assert found["diff"] == (
        "--- a/prompt\n+++ b/prompt\n@@ -1,2 +1,2 @@\n Update maths.py.\n-Do not touch maths.py. Be quick.\n"
        "+Be quick.\n"
    )
    task = "- update maths.py\n- do not touch maths.py\n- it is quick\n"
    repo.write("task.md", task)
    [found] = check(repo, "go", file=parse_checklist(task, "file:task.md"))
    assert "--- a/task.md" in str(found["diff"])
    assert "\n-- do not touch maths.py\n" in str(found["diff"])


def test_a_rule_that_forbids_what_the_prompt_asks_is_told(repo: Repo) -> None:
    rules = [
        ProtectRule(name="closed", paths=["maths.py", "*.lock"], source="settings.toml"),
        DiffRule(name="small", max_files=1, source="settings.toml"),
    ]
    found = check(repo, "Update maths.py and order.py", rules=rules)
    assert [each["kind"] for each in found] == ["impossible", "impossible"]
    assert "the rule 'closed' (do not change maths.py, *.lock) forbids it" in str(found[0]["text"])
    assert "the rule 'small'" in str(found[1]["text"])
    assert "rule 'closed' in settings.toml" in str(found[0]["places"])
    assert check(repo, "Update order.py", rules=rules) == []


def test_tests_that_may_be_edited_are_a_loophole(repo: Repo) -> None:
    [found] = check(repo, "make the failing tests pass")
    assert found["kind"] == "loophole"
    assert "+Do not change the tests.\n" in str(found["diff"])
    [found] = check(repo, "tests/test_maths.py must pass")
    assert "nothing keeps tests/test_maths.py from being changed" in str(found["text"])
    for closed in (
        "tests/test_maths.py must pass. Do not change the tests.",
        "make the failing tests pass without touching the tests",
        "tests/test_maths.py must pass; `make check` must succeed",
        "update the tests so that they pass",
    ):
        assert check(repo, closed) == [], closed


def test_corrections_of_one_text_are_merged() -> None:
    old = "a\nb\nc\n"
    found = [
        SpecFinding(kind="impossible", text="", corrections=(Correction(path="x", before=old, after=new),))
        for new in ("A\nb\nc\n", "a\nb\nC\n", "a\nb\nc\nd\n", "Z\nb\nc\n")
    ]
    [merged] = merge_corrections(found)
    assert merged.after == "A\nb\nC\n"  # of two of one line the first counts
    [more] = merge_corrections([found[0], found[2]])
    assert more.after == "A\nb\nc\nd\n"
    assert merge_corrections([]) == []


@pytest.mark.parametrize(
    ("decision", "answer"), [("go on", type(GO_ON)), ("stop", StopTurn), ("apply", TellModel)]
)
def test_a_person_decides(repo: Repo, decision: Decision, answer: type) -> None:
    ran: list[tuple[str, dict[str, object]]] = []

    async def run_action(tool: str, arguments: dict[str, object]) -> Observation:
        ran.append((tool, arguments))
        return Observation(text="done")

    async def decide(found: Sequence[SpecFinding]) -> Decision:
        assert len(found) == 1
        return decision

    accepted: list[bool] = []
    made = SpecCheck(
        workspace=repo.workspace(),
        record=lambda event: None,
        run_action=run_action,
        accept_changes=lambda: accepted.append(True),
        decide=decide,
    )
    said = asyncio.run(made.prepare_turn("double(2) must return 5"))
    assert isinstance(said, answer)
    assert [tool for tool, _ in ran] == (["read", "write"] if decision == "apply" else [])
    assert accepted == ([True] if decision == "apply" else [])
    if isinstance(said, TellModel):
        assert "assert double(2) == 5" in str(ran[1][1]["content"])
        assert "The user has corrected tests/test_maths.py" in said.text


def test_hostile_texts_are_read_in_bounded_time() -> None:
    for text in (
        "f(" * 20_000,
        "f(1) must return " * 5_000,
        "f((((1)))) == " + "[" * 5_000,
        "f(9**9**9) == 1",
    ):
        assert len(find_told_results(text)) < 10


def test_nothing_of_a_test_file_is_run(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "hostile")
    repo.write("f.py", "def f(x):\n    return x\n")
    repo.write(
        "test_f.py",
        f"open({str(tmp_path / 'pwned')!r}, 'w')\nfrom f import f\n\n\ndef test_f():\n    assert f(2) == 4\n",
    )
    repo.commit_all()
    [found] = check(repo, "f(2) must return 5")
    assert "test_f.py:6" in str(found["text"])
    assert not (tmp_path / "pwned").exists()

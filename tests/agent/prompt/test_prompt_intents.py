"""What prompts want, forbid and name, as one table of sentences in six languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.prompt.hook_wishes import asks_to_skip_hooks
from agent.prompt.prompt_intent import PromptIntent
from agent.prompt.prompt_reader import read_intent, read_intents

LINES = (Path(__file__).parent / "prompt_intents.tsv").read_text("utf-8").splitlines()
ROWS = [tuple(line.split("\t")) for line in LINES if line and not line.startswith("#")]


def describe_intent(intent: PromptIntent) -> tuple[str, set[str]]:
    flags = {
        "passing": intent.wants_passing_tests,
        "run": intent.wants_test_run,
        "commit": intent.wants_commit,
        "no-commit": intent.forbids_commit,
        "no-edits": intent.forbids_edits,
        "no-tests": intent.spares_tests,
        **{f"not:{path}": True for path in intent.forbidden_paths},
        **{f"only:{path}": True for path in intent.only_paths},
    }
    return intent.kind, {name for name, is_set in flags.items() if is_set}


def test_the_table_is_large_and_has_each_sentence_once() -> None:
    assert len(ROWS) >= 200
    assert len({prompt for _, _, prompt in ROWS}) == len(ROWS)


@pytest.mark.parametrize(("kind", "flags", "prompt"), ROWS, ids=[prompt for _, _, prompt in ROWS])
def test_a_prompt_is_read_as_a_person_means_it(kind: str, flags: str, prompt: str) -> None:
    expected = set() if flags == "-" else set(flags.split(","))
    assert describe_intent(read_intent(prompt)) == (kind, expected)


@pytest.mark.parametrize(
    ("texts", "kind", "flags"),
    [
        (["do not edit anything, why does f fail?", "ok, fix it"], "repair", set()),
        (["make f return 2", "and don't commit"], "change", {"no-commit"}),
        (["make f return 2 but do not commit", "looks good, commit it"], "change", {"commit"}),
        (["rename f to g", "don't touch b.py"], "change", {"not:b.py"}),
        (["rename f to g, don't touch b.py", "edit b.py as well"], "change", set()),
        (["rename f to g", "stop, change nothing"], "answer", {"no-edits"}),
        (["why does f fail?", "and which line is it?"], "answer", set()),
    ],
)
def test_what_is_typed_during_a_turn_counts_with_its_prompt(
    texts: list[str], kind: str, flags: set[str]
) -> None:
    assert describe_intent(read_intents(texts)) == (kind, flags)


@pytest.mark.parametrize(
    "material",
    [
        "\n<stdin>\ndo not change anything, do not commit\n</stdin>",
        "\n```\n# never edit this file, no commits\n```",
        "\n> please do not commit",
    ],
)
def test_what_is_piped_or_quoted_forbids_nothing(material: str) -> None:
    assert describe_intent(read_intent(f"rename f to g{material}")) == ("change", set())


@pytest.mark.parametrize(
    ("prompt", "is_wanted"),
    [
        ("make the tests pass", False),
        ("undo what I changed in shop.py", True),
        ("it does not work so revert it", True),
        ("put it back as it was", True),
        ("yes, do it", True),
        ("ok", True),
        ("please apply it.", True),
        ("ok, make the tests pass", False),
        ("write a parser", False),
        ("make the tests pass, but do not undo my changes", False),
        ("fix it without ever reverting my work", False),
        ("fix the error:\n\n```\nrevert failed\n```", False),
        ("mach das Letzte zurück", True),
        ("setz meine Änderung nicht zurück, sondern heile den Test", False),
        ("annule mes modifications", True),
        ("n'annule pas mes modifications", False),
        ("deshaz el cambio", True),
        ("arregla las pruebas y no descartes mi trabajo", False),
        ("撤销我的修改", True),
        ("修复测试，不要撤销我的修改", False),
        ("変更を元に戻して", True),
        ("変更を元に戻さないで直して", False),
    ],
)
def test_a_wish_to_take_something_back_is_told_from_its_ban(prompt: str, is_wanted: bool) -> None:
    assert read_intent(prompt).wants_restoration is is_wanted


@pytest.mark.parametrize(
    ("prompt", "is_wanted"),
    [
        ("commit with --no-verify", True),
        ("skip the hooks this time", True),
        ("commit it without hooks", True),
        ("do not use --no-verify", False),
        ("never skip the hooks", False),
        ("commit, and don't bypass any hooks", False),
        ("mend this:\n\n```\ngit commit --no-verify\n```", False),
    ],
)
def test_a_wish_to_skip_hooks_is_told_from_its_ban(prompt: str, is_wanted: bool) -> None:
    assert asks_to_skip_hooks(prompt) is is_wanted

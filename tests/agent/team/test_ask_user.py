"""`ask_user`: questions with options, answered by a person, by a file, or by nobody."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.events import ObservationEvent
from agent.session.log import read_events
from agent.team.answers_file import PreparedAnswers
from agent.team.ask_user_tool import make_ask_user_tool
from agent.team.attach import attach_person
from agent.team.person import UserQuestion
from agent.team.session_team import SessionTeam
from agent.turn.runtime import Runtime
from sandbox.errors import UserError
from tests.agent.context.test_tokens import openai
from tests.support.cli import call, run, script
from tests.support.team_sessions import play_team, team_settings
from tools.core.action import Action
from tools.core.call_aliases import translate_call
from tools.core.registry import Toolbox

TAX = {"question": "Gross or net?", "options": ["gross: with VAT", "net: without"]}
FILES = {"question": "Which files?", "options": ["cart.py", "order.py", "none"], "several": True}


@pytest.mark.parametrize(
    ("question", "typed", "answer"),
    [
        (UserQuestion(**TAX), "2", "net"),
        (UserQuestion(**TAX), "both of them", "both of them"),
        (UserQuestion(**TAX), "3", "3"),
        (UserQuestion(**FILES), "1, 2", "cart.py, order.py"),
        (UserQuestion(**FILES), "2 2", "order.py"),
        (UserQuestion(**FILES), "1 and 2", "1 and 2"),
        (UserQuestion("How many?"), " 2 ", "2"),
    ],
)
def test_numbers_stand_for_options(question: UserQuestion, typed: str, answer: str) -> None:
    assert question.read_answer(typed) == answer


def ask(
    shop: Path, tmp_path: Path, file: Path | None, *questions: dict[str, Any], **one: str
) -> ObservationEvent:
    """The observation of one `ask_user` in a session with these prepared answers; None: nobody is there."""
    arguments = {**one, **({"questions": list(questions)} if questions else {})}
    turns = [{"calls": [call("ask_user", **arguments)]}, {"text": "Well."}]
    found: list[ObservationEvent] = []

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        if file is not None:
            attach_person(runtime, PreparedAnswers.from_file(file), stays_open=False)
        assert ("ask_user" in {each.name for each in runtime.toolbox}) is (file is not None)
        await runtime.run_turn("Do it")
        events = read_events(runtime.session.folder)
        found.extend(each for each in events if isinstance(each, ObservationEvent))

    play_team(shop, team_settings(tmp_path, turns, {}), story)
    return found[0]


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    path = tmp_path / "answers.json"
    path.write_text(
        json.dumps({"gross": "2", "files": "1,2", "which files exactly": "none", "*": "as you like"})
    )
    return path


def test_several_questions_are_answered_together(shop: Path, tmp_path: Path, answers: Path) -> None:
    told = ask(shop, tmp_path, answers, TAX, FILES, {"question": "What colour?"})
    assert told.text.splitlines() == [
        "The user answers:",
        "- Gross or net? net",
        "- Which files? cart.py, order.py",
        "- What colour? as you like",
    ]
    assert told.data == {"answered": True, "answers": ["net", "cart.py, order.py", "as you like"]}


def test_a_single_question_is_answered_plainly(shop: Path, tmp_path: Path, answers: Path) -> None:
    assert ask(shop, tmp_path, answers, question="Gross or net?").text == "The user answers: 2"


def test_answers_are_used_up_in_their_order(shop: Path, tmp_path: Path) -> None:
    path = tmp_path / "answers.txt"
    path.write_text("net\n\n2\n")
    told = ask(shop, tmp_path, path, {"question": "Gross or net?"}, FILES, {"question": "And now?"})
    assert told.text.splitlines()[1:] == [
        "- Gross or net? net",
        "- Which files? order.py",
        "- And now? (no answer: decide yourself)",
    ]


def test_without_a_person_the_model_decides(shop: Path, tmp_path: Path) -> None:
    told = ask(shop, tmp_path, None, TAX)
    assert told.failed
    assert "nobody is here to answer" in told.text


@pytest.mark.parametrize(
    ("questions", "problem"),
    [
        ([], "the question is empty"),
        ([{"question": " "}], "the question is empty"),
        ([{"question": f"{n}?"} for n in range(5)], "at most 4 questions"),
        ([{"question": "?", "options": [str(n) for n in range(9)]}], "at most 8 options"),
        ([{"options": ["a"]}], "question"),
    ],
)
def test_what_is_no_question_is_refused(
    shop: Path, tmp_path: Path, answers: Path, questions: Sequence[dict[str, Any]], problem: str
) -> None:
    told = ask(shop, tmp_path, answers, *questions)
    assert told.failed
    assert problem in told.text


@pytest.mark.parametrize(
    ("name", "text"), [("a.json", "{"), ("a.json", '{"a": 3}'), ("a.json", "3"), ("a.txt", "\udcff")]
)
def test_a_file_that_holds_no_answers_is_refused(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UserError, match=r"a\.(json|txt)"):
        PreparedAnswers.from_file(path)
    with pytest.raises(UserError, match="cannot read"):
        PreparedAnswers.from_file(tmp_path / "missing.txt")


def test_other_agents_questions_are_understood() -> None:
    toolbox = Toolbox([make_ask_user_tool(SessionTeam.__new__(SessionTeam))])
    theirs = {
        "questions": [
            {
                "question": "Which database?",
                "header": "Database",
                "multiSelect": False,
                "options": [
                    {"label": "SQLite", "description": "one file"},
                    {"label": "Postgres", "description": ""},
                ],
            }
        ]
    }
    ours = translate_call(Action(id="1", tool="AskUserQuestion", arguments=theirs), toolbox)
    asked = {"question": "Which database?", "options": ["SQLite: one file", "Postgres"], "several": False}
    assert (ours.tool, ours.arguments) == ("ask_user", {"questions": [asked]})
    followup = {"question": "Which?", "follow_up": [{"text": "This"}, {"text": "That"}]}
    ours = translate_call(Action(id="2", tool="ask_followup_question", arguments=followup), toolbox)
    assert ours.arguments == {"questions": [{"question": "Which?", "options": ["This", "That"]}]}


def test_it_costs_little_where_it_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    tool = make_ask_user_tool(SessionTeam.__new__(SessionTeam))
    told = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    sent = json.dumps({"type": "function", "function": told}, separators=(",", ":"))
    assert openai(monkeypatch)(sent) <= 120


@pytest.mark.slow
def test_from_the_command_line(shop: Path, tmp_path: Path, answers: Path) -> None:
    turns = [
        {"calls": [call("ask_user", questions=[TAX])], "expect": [{"tools": ["ask_user"]}]},
        {"text": "Net it is.", "expect": ["The user answers: net"]},
    ]
    model = script(tmp_path, turns)
    found = run("run", "which total?", "--model", model, "--answers", answers, cwd=shop)
    assert (found.code, found.out) == (0, "Net it is.\n"), found.err
    assert "ask_user Gross or net?" in found.err
    refused = run("run", "which total?", "--model", model, "--answers", tmp_path / "none.txt", cwd=shop)
    assert refused.code == 2
    assert "cannot read the answers" in refused.err

"""`ask_user`: the tool by which a model asks what only the person in front of the session knows."""

from __future__ import annotations

from typing import Protocol

from agent.team.person import NOBODY, Person, SeriesPerson, UserQuestion
from tools.core.action import Observation, ToolFailure
from tools.core.registry import Tool, tool
from tools.core.workspace import Workspace

MOST_QUESTIONS = 4
MOST_OPTIONS = 8

LONGEST_ANSWER = 8_000
"""Characters of one answer that a model gets."""


class HasPerson(Protocol):
    """The agents of a session, which know who can be asked. person: None where nobody is there"""

    person: Person | None


def make_ask_user_tool(team: HasPerson) -> Tool:
    """Return the tool that asks the person in front of the session."""

    @tool(effect="none")
    async def ask_user(
        question: str = "",
        questions: list[UserQuestion] = [],  # noqa: B006 - never changed
        *,
        at: Workspace,
    ) -> Observation:
        """Ask the user what you cannot find out, and must know to go on.

        questions: up to 4; options are "label: meaning", and the user may type another answer
        """
        asked = _check_questions(question, questions)
        if team.person is None:
            return Observation(text=NOBODY, data={"answered": False}, failed=True)
        if isinstance(team.person, SeriesPerson):
            team.person.announce_questions(len(asked))
        answers = [(await team.person.answer(each)).strip()[:LONGEST_ANSWER] for each in asked]
        return _describe_answers(asked, answers)

    return ask_user


def _check_questions(question: str, questions: list[UserQuestion]) -> list[UserQuestion]:
    """Return the questions to ask. Raises ToolFailure if there are none, or too many."""
    asked = [*([UserQuestion(question)] if question.strip() else []), *questions]
    if not asked or not all(each.question.strip() for each in asked):
        raise ToolFailure("ask_user: the question is empty")
    if len(asked) > MOST_QUESTIONS:
        raise ToolFailure(f"ask_user: at most {MOST_QUESTIONS} questions at once (got {len(asked)})")
    if any(len(each.options) > MOST_OPTIONS for each in asked):
        raise ToolFailure(f"ask_user: at most {MOST_OPTIONS} options for a question")
    return asked


def _describe_answers(asked: list[UserQuestion], answers: list[str]) -> Observation:
    data = {"answered": any(answers), "answers": answers}
    if not any(answers):
        return Observation(text="The user gave no answer. Decide yourself.", data=data)
    if len(asked) == 1:
        return Observation(text=f"The user answers: {answers[0]}", data=data)
    lines = [
        f"- {each.question.strip()} {answer or '(no answer: decide yourself)'}"
        for each, answer in zip(asked, answers, strict=True)
    ]
    return Observation(text="\n".join(["The user answers:", *lines]), data=data)

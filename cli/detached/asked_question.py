"""A question of a detached run as terminals show it."""

from __future__ import annotations

from agent.team.person import UserQuestion, split_option
from cli.detached.mailbox import OpenQuestion
from cli.tui.frontend import Option, Question


def to_question(question: OpenQuestion) -> Question:
    """Return an approval as a frontend asks it. Its texts are those that the run made safe to show."""
    options = tuple(
        Option(name=name, key=key, label=label, about=about, line=line, text=text)
        for name, key, label, about, line, text in question.options
    )
    return Question(
        title=question.title,
        what=question.what,
        change=question.change,
        why=question.why,
        options=options,
        otherwise=question.otherwise,
    )


def to_user_question(question: OpenQuestion) -> UserQuestion:
    """Return a question of the model as it was asked."""
    return UserQuestion(question.title, [str(each) for each in question.options], question.several)


def format_options(question: OpenQuestion) -> list[str]:
    """Return a line for each answer that is offered."""
    if question.kind == "approval":
        return [f"{each.key} = {each.label}" for each in to_question(question).options]
    rows = []
    for number, option in enumerate(map(str, question.options), 1):
        label, meaning = split_option(option)
        rows.append(f"{number}. {label}" + (f" ({meaning})" if meaning else ""))
    return rows

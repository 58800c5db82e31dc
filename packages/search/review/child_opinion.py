"""A role as a read-only child session: it can look around in the files, and is paid by the purse of the turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Literal

from agent.children.children import Children
from agent.children.spec import ChildSpec
from agent.context.system_prompt import PROMPTS
from agent.model.protocol import UNPAID
from agent.session_settings import LimitSettings
from agent.turn.runtime import Runtime
from packages.search.answer_schema import build_answer_schema
from packages.search.review.answers import Answer, read_answer
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.secrets.child_environment import redact

RoleName = Literal["reviewer", "judge"]

TOOLS = frozenset({"read", "list", "search", "code", "git_status", "git_diff", "git_log"})
"""Tools of a role: it reads, and runs nothing."""

_LIMITS = LimitSettings(max_steps=15, max_time=300)
"""A change is looked at in a few steps; a role that needs more does not come to an end."""

_AGAIN = "That is not the JSON object that was asked for. Give only the object, as your whole message."


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion(Generic[Answer]):
    """Answers of a role to a row of questions, the last one counts. problem: why there is none; model: its name"""

    answers: Sequence[Answer] = ()
    model: str = ""
    problem: str = ""


async def ask_role(
    runtime: Runtime, children: Children, role: RoleName, kind: type[Answer], questions: Sequence[str]
) -> Opinion[Answer]:
    """Ask a new child session some questions, one after the other. Never raises UserError."""
    name = runtime.settings.models.judge
    if not name and runtime.model.name.startswith(UNPAID):
        return Opinion(problem="no model can be asked")
    spec = ChildSpec(
        prompt=redact(questions[0]),
        instructions=(PROMPTS / f"{role}.md").read_text("utf-8"),
        model=name,
        effort=runtime.settings.models.judge_effort,
        tools=TOOLS & {tool.name for tool in runtime.toolbox},
        limits=_LIMITS,
        role=role,
    )
    try:
        async with await children.start(spec) as child:
            child.runtime.loop.replies.answer_schema = build_answer_schema(kind)
            answers: list[Answer] = []
            for question in questions:
                result = await child.ask(redact(question))
                answer = read_answer(kind, result.report)
                if answer is None and result.succeeded:
                    result = await child.ask(_AGAIN)
                    answer = read_answer(kind, result.report)
                if answer is None:
                    return Opinion(model=child.runtime.model.name, problem=f"no answer: {result.outcome}")
                answers.append(answer)
            return Opinion(answers=answers, model=child.runtime.model.name)
    except UserError as error:  # nothing is left of the budget, or the model cannot be reached
        return Opinion(problem=error.message)

"""A question: looked up where code can tell, else answered by the model from code that was found for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from packages.offline.jobs.desk import WARMER, NotDone, Outcome
from packages.offline.jobs.job_reader import Job

if TYPE_CHECKING:
    from packages.offline.jobs.desk import Desk
    from packages.offline.jobs.found_code import Excerpt
    from packages.offline.model.answers.lookup import Answer
    from packages.offline.model.intent.question_topics import Question
    from tools.code.index.code_index import Index

LOOKED_UP = frozenset({"failing", "why", "fault", "fix", "changed", "run-tests", "overview"})
"""Topics that code answers better than a small model."""

NAMED = frozenset({"defined", "used", "calls", "tests-of"})
"""The same where the question has a name that is surely one of code."""

MOST_ANSWER = 250
"""Tokens of an answer."""


async def answer(desk: Desk, job: Job) -> Outcome | None:
    """Answer a question; None if it is about nothing in the code."""
    from packages.offline.model.intent.question_topics import read_question

    question = read_question(job.text)
    if question is None:
        return None
    if _is_looked_up(question):
        found = await _look_up(desk, question)
        if found is not None:
            return Outcome(text=f"{found.text.rstrip()}\n\nHow far to trust it: {found.trust}", is_done=True)
    return await _ask_model(desk, question)


def _is_looked_up(question: Question) -> bool:
    from packages.offline.model.intent.question_topics import is_sure_name

    named = question.topic in NAMED and len(question.names) == 1 and is_sure_name(question.names[0])
    return named or question.topic in LOOKED_UP


async def _look_up(desk: Desk, question: Question) -> Answer | None:
    """Return what the offline engine's lookup answers, None if it finds nothing."""
    from agent.model.protocol import ToolMessage
    from packages.offline.model.answers.lookup import Answer
    from packages.offline.model.answers.question_turn import ANSWERERS
    from packages.offline.model.turn_steps import Step
    from tools.core.action import Action

    lookup = ANSWERERS[question.topic](question)
    try:
        call = next(lookup)
        while True:
            seen = await desk.act(call.tool, call.arguments)
            result = ToolMessage(
                call="", name=call.tool, text=seen.text, failed=seen.failed, data=seen.data, whole=seen.text
            )
            step = Step(action=Action(id="", tool=call.tool, arguments=dict(call.arguments)), result=result)
            call = lookup.send(step)
    except StopIteration as end:
        return end.value if isinstance(end.value, Answer) else None
    except NotDone:
        return None


async def _ask_model(desk: Desk, question: Question) -> Outcome | None:
    from packages.offline.jobs.answer_check import check_answer
    from packages.offline.jobs.found_code import find_excerpts, format_excerpts

    excerpts = await desk.query(lambda index: find_excerpts(index, question.text, question.names))
    if not excerpts:
        return None
    desk.tell(f"{len(excerpts)} places of the code were found; the model answers from them")
    asked = f"{format_excerpts(excerpts)}\n\nQuestion: {question.text}"
    dropped = 0
    for temperature in (0.0, WARMER):
        reply = await desk.ask("answer.md", asked, most=MOST_ANSWER, temperature=temperature)
        if not reply or reply.upper().strip(" .`*").startswith("NOT FOUND"):
            continue
        lines, defined = await _collect_facts(desk, reply)
        checked = check_answer(reply, excerpts, question.text, lines, defined)
        dropped += len(checked.dropped)
        if checked.text:
            return Outcome(text=_finish(checked.text, excerpts, len(checked.dropped)), is_done=True)
    why = "the model named places that do not exist" if dropped else "the model found no answer"
    return Outcome(
        text=f"Not answered: {why} in the code that was found.\n\n{_list(excerpts)}", is_done=False
    )


async def _collect_facts(desk: Desk, reply: str) -> tuple[dict[str, int], set[str]]:
    """Return the lines of the files, and the defined ones of the names, that a reply speaks of."""
    words = set(re.findall(r"[\w./-]+\.\w+", reply))
    names = set(re.findall(r"[A-Za-z_]\w*", reply))

    def collect(index: Index) -> tuple[dict[str, int], set[str]]:
        from tools.code.index.symbol_queries import find_definitions

        lines: dict[str, int] = {}
        for path in index.paths:
            for word in words:
                if path == word or path.endswith(f"/{word}"):
                    count = len(index.read_source(path).splitlines())
                    lines[word] = max(count, lines.get(word, 0))
        return lines, {name for name in names if find_definitions(index, name)}

    return await desk.query(collect)


def _finish(text: str, excerpts: list[Excerpt], dropped: int) -> str:
    """Return an answer with the places that were read, and what was left out."""
    cited = any(each.place in text for each in excerpts)
    parts = [text] if cited else [text, _list(excerpts[:3])]
    if dropped:
        noun = "sentence that names a place" if dropped == 1 else "sentences that name places"
        verb = "does" if dropped == 1 else "do"
        parts.append(f"(Left out: {dropped} {noun} which {verb} not exist.)")
    return "\n\n".join([*parts, "By a small model, from these places: read them before you rely on it."])


def _list(excerpts: list[Excerpt]) -> str:
    lines = [f"- {each.place}{f': `{each.symbol}`' if each.symbol else ''}" for each in excerpts]
    return "\n".join(["The likeliest places:", *lines])

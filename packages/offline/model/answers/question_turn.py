"""The turn of a question: the calls that its lookup needs, one a step, then the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent.model.protocol import Reply
from packages.offline.model.answers.history_answers import find_changes
from packages.offline.model.answers.lookup import Answer, Answerer, Call, Lookup, NoAnswer, format_answer
from packages.offline.model.answers.project_answers import (
    describe_abilities,
    describe_project,
    find_by_words,
    find_test_command,
)
from packages.offline.model.answers.suite_answers import (
    explain_failure,
    list_failures,
    locate_fault,
    suggest_fix,
)
from packages.offline.model.answers.symbol_answers import (
    describe_named,
    find_called,
    find_definition,
    find_tests,
    find_uses,
)
from packages.offline.model.answers.test_bodies import describe_test
from packages.offline.model.intent.question_topics import Question, Topic
from packages.offline.model.offline_turn import OfflineTurn
from packages.offline.model.turn_steps import Step

ANSWERERS: Mapping[Topic, Answerer] = {
    "failing": list_failures,
    "why": explain_failure,
    "fault": locate_fault,
    "fix": suggest_fix,
    "checks": describe_test,
    "defined": find_definition,
    "used": find_uses,
    "calls": find_called,
    "describe": describe_named,
    "tests-of": find_tests,
    "changed": find_changes,
    "run-tests": find_test_command,
    "overview": describe_project,
    "words": find_by_words,
    "abilities": describe_abilities,
}


def answer_question(turn: OfflineTurn, question: Question) -> Reply | NoAnswer:
    """Return the next call of the lookup, or the end of the turn with its answer; NoAnswer if nothing was found."""
    reached = _replay_lookup(ANSWERERS[question.topic](question), turn.steps)
    if isinstance(reached, NoAnswer):
        return reached
    if isinstance(reached, Answer):
        return turn.end(format_answer(reached), "done")
    if isinstance(reached, Step):
        said = reached.text
        return turn.end(f"I stopped: {reached.action.tool} was refused.\n{said}", "not achieved")
    return turn.call_tool(reached.text, reached.tool, reached.arguments)


def _replay_lookup(lookup: Lookup, steps: Sequence[Step]) -> Answer | NoAnswer | Call | Step:
    """Feed a lookup with the steps that were taken for it; return where it stands, or the step that was refused.

    The same call is made once, however often the lookup asks for it.
    """
    try:
        call = next(lookup)
        while True:
            step = next((each for each in steps if _answers_call(each, call)), None)
            if step is None:
                return call
            if step.data.get("denied"):
                return step
            call = lookup.send(step)
    except StopIteration as end:
        found: Answer | NoAnswer = end.value
        return found


def _answers_call(step: Step, call: Call) -> bool:
    return step.action.tool == call.tool and dict(step.action.arguments) == dict(call.arguments)

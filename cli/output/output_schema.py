"""Value of a run's answer under `--output-schema FILE`, and the report of an answer that does not fit."""

from __future__ import annotations

from typing import Any

from agent.events import End
from agent.exit_codes import Exit
from agent.verify.answer_schema import AnswerSchema
from cli.output.standard_streams import write_error
from sandbox.sanitize import sanitize_text

_ANSWERED = {Exit.DONE, Exit.TESTS_FAIL, Exit.NOTHING_TO_DO, Exit.NO_TEST_RUNNER, Exit.NOT_ACHIEVED}
"""Outcomes of turns that the model ended with an answer."""


def read_structured_answer(structure: AnswerSchema, end: End, answer: str) -> Any:
    """Return the value of a run's answer; None, with a line on standard error, if it does not fit the schema."""
    if end.exit_code not in _ANSWERED:
        return None
    value, problem = structure.read_answer(answer)
    if problem:
        write_error(
            sanitize_text(f"patchwright: the answer does not fit the schema, asked twice: {problem}\n")
        )
    return value

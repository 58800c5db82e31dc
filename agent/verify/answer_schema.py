"""JSON schema for the answer of a run (`--output-schema FILE`), and the verifier of the answer against it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from agent.events import Event
from agent.verify.verdict import Claim, Verdict
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass

_ASKED = (
    "When the task is done, let your final answer (the summary, if you end with a tool) be one JSON value that is "
    "valid against this JSON schema, and nothing else:"
)
_AGAIN = (
    "Your final answer does not fit the schema: {problem}\nGive only the JSON value, as your whole answer."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSchema:
    """JSON schema (2020-12 unless it names another draft) for the answer of a run. It can refer only to itself."""

    schema: Any

    @classmethod
    def from_file(cls, path: Path) -> AnswerSchema:
        """Read a schema. Raises UserError if the file is unreadable, or no JSON schema."""
        try:
            schema = json.loads(path.read_bytes())
        except OSError as error:
            raise UserError(Fault.USAGE, f"cannot read the schema {str(path)!r}: {error.strerror}") from None
        except (ValueError, RecursionError) as error:
            raise UserError(Fault.USAGE, f"{str(path)!r} is not JSON: {error}") from None
        return cls.from_value(schema, repr(str(path)))

    @classmethod
    def from_value(cls, schema: object, name: str) -> AnswerSchema:
        """Check a schema. name: of it, for errors. Raises UserError if it is no JSON schema."""
        from jsonschema.exceptions import SchemaError
        from jsonschema.validators import validator_for

        try:
            if not isinstance(schema, dict | bool) or (
                isinstance(schema, dict) and not isinstance(schema.get("$schema", ""), str)
            ):
                raise SchemaError("an object is wanted, its `$schema` a text")
            validator_for(schema).check_schema(schema)
        except RecursionError as error:
            raise UserError(Fault.USAGE, f"{name} is not a JSON schema: {error}") from None
        except SchemaError as error:
            where = "/".join(map(str, error.absolute_path)) or "the top"
            raise UserError(
                Fault.USAGE, f"{name} is not a JSON schema: at {where}: {error.message}"
            ) from None
        return cls(schema=schema)

    def extend_prompt(self, prompt: str) -> str:
        """Return the prompt with the schema of the answer appended."""
        return f"{prompt}\n\n{_ASKED}\n{json.dumps(self.schema, ensure_ascii=False)}"

    def read_answer(self, text: str) -> tuple[Any, str]:
        """Return (value of the answer, problem or ""). A code fence around the answer is stripped.

        Raises UserError if the schema has an unresolvable or endless reference.
        """
        from jsonschema.exceptions import best_match
        from jsonschema.validators import validator_for
        from referencing import Registry
        from referencing.exceptions import Unresolvable

        try:
            value = json.loads(_strip_fence(text))
        except (ValueError, RecursionError) as error:
            return None, f"it is not JSON: {error}"
        registry: Registry[Any] = Registry()  # empty: no reference is fetched
        try:
            errors = validator_for(self.schema)(self.schema, registry=registry).iter_errors(value)
            worst = best_match(errors)
        except Unresolvable as error:
            raise UserError(Fault.USAGE, f"the schema refers to what is not in it: {error.ref!r}") from None
        except RecursionError:
            raise UserError(Fault.USAGE, "the schema refers to itself without end") from None
        if worst is None:
            return value, ""
        where = "/".join(map(str, worst.absolute_path)) or "the top"
        return None, f"at {where}: {worst.message}"


@dataclass(slots=True, kw_only=True)
class AnswerVerifier:
    """The answer is JSON that fits the schema. An invalid one is asked for again, once."""

    schema: AnswerSchema
    name: str = "answer"
    withholds_commit: bool = False
    _has_advised: bool = False

    def begin_turn(self) -> None:
        """See `Verifier.begin_turn`."""
        self._has_advised = False

    def track_event(self, event: Event) -> None:
        """See `Verifier.track_event`; no event matters."""

    async def verify(self, claim: Claim) -> Verdict | None:
        """See `Verifier.verify`."""
        _, problem = self.schema.read_answer(claim.answer)
        if not problem:
            return Verdict(outcome="pass", evidence="static", name=self.name)
        advice = "" if self._has_advised else _AGAIN.format(problem=problem)
        self._has_advised = True
        return Verdict(outcome="fail", evidence="static", name=self.name, detail=problem, advice=advice)


def _strip_fence(text: str) -> str:
    """Return the content of the code fence that encloses the answer, or the answer itself."""
    fenced = re.fullmatch(r"\s*(?:```|~~~)\w*\n(.*)\n(?:```|~~~)\s*", text, re.DOTALL)
    return fenced[1] if fenced else text

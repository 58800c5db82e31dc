"""Artefacts that the roles of a team hand on, each validated before the next role begins (MetaGPT, 2308.00352)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from packages.search.team.plan_graph.nodes import NodeId, PlanNode
from sandbox.lazy_pattern import compile_lazily
from tools.core.text import clip
from tools.lint.test_files import is_test_file

MOST_STEPS = 12
"""Steps of a plan: each is a child session with its attempts."""

_FORM = ConfigDict(frozen=True, extra="forbid")

Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=600)]


class Brief(BaseModel):
    """What is wanted. title: of the change, as a commit's first line; interfaces: names that callers rely on"""

    model_config = _FORM

    title: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=72)]
    requirements: tuple[Line, ...] = Field(min_length=1, max_length=30)
    interfaces: tuple[Line, ...] = Field(default=(), max_length=40)


class Step(BaseModel):
    """One part of the work.

    needs: ids of steps whose code it builds on; done_when: what shows that it is done
    covers: numbers of the brief's requirements that it meets, from 1
    tools: names of tools that it cannot do without, beside those that read, edit and run
    """

    model_config = _FORM

    id: NodeId
    task: Line
    needs: tuple[NodeId, ...] = ()
    done_when: Line
    covers: tuple[int, ...] = ()
    tools: tuple[str, ...] = ()

    def to_node(self) -> PlanNode:
        """Return the step as a node of a plan graph."""
        return PlanNode(
            id=self.id,
            task=self.task,
            needs=self.needs,
            covers=tuple(map(name_requirement, self.covers)),
            tools=self.tools,
            evidence=self.done_when,
        )


def name_requirement(number: int) -> str:
    """Return how a requirement of the brief is named in a plan's problems. number: from 1"""
    return f"requirement {number}"


class Plan(BaseModel):
    """Steps, in any order."""

    model_config = _FORM

    steps: tuple[Step, ...] = Field(min_length=1, max_length=MOST_STEPS)

    def list_nodes(self) -> list[PlanNode]:
        """Return the steps as nodes of a plan graph."""
        return [each.to_node() for each in self.steps]


class NewTests(BaseModel):
    """A new file of tests. steps: ids of those after which they have to pass; none: after all of them"""

    model_config = _FORM

    path: Annotated[str, StringConstraints(min_length=1, max_length=300)]
    content: Annotated[str, StringConstraints(min_length=1, max_length=100_000)]
    steps: tuple[NodeId, ...] = ()


class Tests(BaseModel):
    """Tests of the requirements. open: what these leave open"""

    model_config = _FORM

    files: tuple[NewTests, ...] = Field(min_length=1, max_length=20)
    open: tuple[Line, ...] = Field(default=(), max_length=30)


Artefact = TypeVar("Artefact", bound=BaseModel)

_FENCED = compile_lazily(r"```(?:json)?[ \t]*\n(.*?)\n```", re.DOTALL)

MOST_PROBLEM = 600
"""Characters of what a role is told about its artefact."""


def read_artefact(kind: type[Artefact], text: str) -> Artefact | str:
    """Return the artefact in a message (a JSON object alone, in a fence, or at its end), or what is wrong with it."""
    last = text.rfind("\n{")
    problem = "there is no JSON object in the message"
    for each in (text, *reversed(_FENCED.findall(text)), text[last + 1 :] if last >= 0 else ""):
        try:
            value = json.loads(each)
        except (ValueError, RecursionError):
            continue
        try:
            return kind.model_validate(value)
        except ValidationError as error:
            rows = [f"{'.'.join(map(str, row['loc']))}: {row['msg']}" for row in error.errors()]
            problem = clip("; ".join(rows), MOST_PROBLEM)
    return problem


def find_test_problems(tests: Tests, steps: Sequence[NodeId]) -> Iterator[str]:
    """Yield what is wrong with files of tests, beside that a file may exist already. steps: ids of the plan"""
    paths = [each.path for each in tests.files]
    yield from (f"{each}: named twice" for each in sorted({path for path in paths if paths.count(path) > 1}))
    for each in tests.files:
        parts = each.path.split("/")
        if each.path.startswith("/") or {"", ".", "..", ".git"} & set(parts) or not each.path.isprintable():
            yield f"{each.path!r}: no path inside the project"
        elif not is_test_file(each.path):
            yield f"{each.path}: no name of a file with tests"
        if unknown := [step for step in each.steps if step not in steps]:
            yield f"{each.path}: no step of the plan: {', '.join(unknown)}"
        if each.path.endswith(".py"):
            try:
                compile(each.content, each.path, "exec", dont_inherit=True)
            except (SyntaxError, ValueError) as error:
                yield f"{each.path} is no Python: {error}"

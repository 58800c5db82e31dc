"""Result of one trial, as it is kept and counted."""

from __future__ import annotations

from dataclasses import asdict, field, fields
from typing import Any, Literal, get_args

from sandbox.lazy_dataclass import dataclass

FailureClass = Literal[
    "",
    "wrong",
    "no-change",
    "tests-fail",
    "gave-up",
    "denied",
    "limit",
    "time-limit",
    "set-up",
    "checker-time",
    "crashed",
    "model-unreachable",
    "credentials",
    "configuration",
    "storage",
    "internal",
]
"""Why a trial is not solved, "" if it is.

wrong: the agent said that it was done, the checker says no; no-change: so, but nothing was changed
tests-fail, gave-up, denied, limit: the agent ended so itself, and the checker says no
time-limit: ended by the harness at the task's time; set-up, checker-time: a command of the task failed or took too long
crashed: its worker died, more than once
"""

INVALID: frozenset[str] = frozenset(
    ("set-up", "model-unreachable", "credentials", "configuration", "storage", "internal")
)
"""Failures that say nothing about the agent: reported, counted in no rate, and tried again by the next run."""

CLAIMS = ("done", "no-test-runner")
"""Outcomes by which an agent says that it did the task; the second without tests of its own."""


MOST_PATCH = 32 << 20
"""Bytes of a change that are kept; of a larger one nothing: a part of it is no patch."""

LARGEST = 256 << 20
"""Bytes of a result as JSON, in which a character of its patch may take six."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """What came of a trial.

    key: content address; task, digest, variant, trial (from 0): which one it is
    score: 1 if solved, else the checker's partial credit below 1
    outcome: label of the agent's exit code; detail: one line for a person
    cost: dollars, None if a price is unknown; tokens: of input and output
    seconds: of the whole trial; agent_seconds: of the agent's turns
    tool_calls, tool_failures: of the main session
    user_tokens, user_cost: of the model that played the user, which the figures of the agent leave out
    session: id of its log; patch: of its changes, as text, "" for more than `MOST_PATCH`
    """

    key: str
    task: str
    digest: str
    variant: str
    trial: int
    solved: bool
    score: float
    failure: FailureClass
    outcome: str = ""
    detail: str = ""
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    cost: float | None = None
    seconds: float = 0.0
    agent_seconds: float = 0.0
    steps: int = 0
    tool_calls: int = 0
    tool_failures: int = 0
    user_tokens: int = 0
    user_cost: float | None = None
    session: str = ""
    sandbox: str = ""
    patch: str = ""
    language: str = ""
    tags: tuple[str, ...] = field(default=())

    @property
    def is_valid(self) -> bool:
        """Whether it says something about the agent."""
        return self.failure not in INVALID

    @property
    def tokens(self) -> int:
        """Tokens of input and output."""
        return self.tokens_in + self.tokens_out

    def encode(self) -> dict[str, Any]:
        """Return its fields for JSON."""
        return asdict(self)


def decode_result(values: object) -> TrialResult:
    """Return a result from JSON; unknown fields are left out. Raises ValueError for what is none."""
    if not isinstance(values, dict):
        raise ValueError("not an object")
    known = {each.name for each in fields(TrialResult)}
    found = {name: value for name, value in values.items() if name in known}
    if "tags" in found:
        found["tags"] = tuple(found["tags"])
    try:
        result = TrialResult(**found)
    except TypeError as error:
        raise ValueError(str(error)) from None
    if result.failure not in get_args(FailureClass) or not isinstance(result.trial, int):
        raise ValueError(f"no result of a trial: {result.failure!r}")
    return result

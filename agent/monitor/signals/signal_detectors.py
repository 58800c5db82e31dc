"""Detectors of a session that goes wrong. Each takes one step after the other, in constant time and bounded state.

The kinds follow what others found in agents' traces: loops, stagnation, ignored errors and claims without evidence
("TRAIL: Trace Reasoning and Agentic Issue Localization", arXiv 2505.08638), and long thought instead of action
("The Danger of Overthinking", arXiv 2502.08235).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from itertools import count
from typing import ClassVar

from agent.monitor.signals.session_steps import SessionStep, compare_sets
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

LONGEST_PERIOD = 6
"""Steps of the longest loop that is searched for."""

MOST_SEEN = 50_000
"""Lines that count as seen: an older one counts as new again."""

_CLAIM = compile_lazily(
    r"(?i)\b(?:all|the|every|both)?\s*tests?\s+(?:now\s+|all\s+|do\s+)*(?:pass|succeed|are\s+(?:green|passing))"
    r"|\bI(?:'ve| have)?\s+(?:ran|run|tested|verified)\b|\bverified\s+(?:that|by)\b"
)
_MADE_UP = compile_lazily(
    r"(?mi)^[^\S\n]*(?:<tool_response>|<function_results?>|<observation>|observation:|tool (?:result|output):)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSignal:
    """A sign that a session goes wrong.

    place: id of the event at which it was seen; value: its measure, such as a length in steps
    detail: what was seen, as a clause; advice: what to do, for the model
    began: id of the first step that it holds of, where that is an earlier one
    """

    name: str
    place: str
    value: float
    detail: str
    advice: str
    began: str = ""


class Detector(ABC):
    """Watches for one kind of signal."""

    name: ClassVar[str]
    advice: ClassVar[str]

    @abstractmethod
    def take_step(self, step: SessionStep) -> FoundSignal | None:
        """Process a finished step; return what it shows."""

    def report(self, step: SessionStep, value: float, detail: str, began: str = "") -> FoundSignal:
        """Return the signal of this kind at a step."""
        return FoundSignal(
            name=self.name, place=step.place, value=value, detail=detail, advice=self.advice, began=began
        )


@dataclass(slots=True)
class _Run:
    """Steps in a row that each are like the one a period before. began: id of the first of them"""

    length: int = 0
    began: str = ""

    def add_step(self, step: SessionStep, is_alike: bool) -> None:
        self.length = self.length + 1 if is_alike else 0
        if self.length == 1:
            self.began = step.place


class LoopDetector(Detector):
    """Steps that repeat with a period of up to LONGEST_PERIOD: exactly, nearly, or in their results alone."""

    name = "loop"
    advice = (
        "It will not bring anything else. Do something that you have not tried, or say what is in the way."
    )

    def __init__(self) -> None:
        self._steps: deque[SessionStep] = deque(maxlen=LONGEST_PERIOD + 1)
        self._exact, self._near, self._results = ([_Run() for _ in range(LONGEST_PERIOD)] for _ in range(3))

    def take_step(self, step: SessionStep) -> FoundSignal | None:
        """Compare a step with the one before, two before, …: a loop is a whole period that came again.

        Other actions with the same results have to come twice more. A loop that goes on is told again every
        LONGEST_PERIOD steps.
        """
        self._steps.append(step)
        for period in range(1, LONGEST_PERIOD + 1):
            before = self._steps[-period - 1] if period < len(self._steps) else None
            is_equal = before is not None and step.equals(before)
            is_near = is_equal or (before is not None and step.resembles(before))
            brings_same = is_near or (before is not None and step.brings_same(before))
            self._exact[period - 1].add_step(step, is_equal)
            self._near[period - 1].add_step(step, is_near)
            self._results[period - 1].add_step(step, brings_same)
        for period, near, results in zip(count(1), self._near, self._results, strict=False):
            beyond = max(near.length - max(period, 2), results.length - 2 * period)
            if beyond >= 0:  # a longer period is a multiple of this one
                return None if beyond % LONGEST_PERIOD else self._describe(step, period)
        return None

    def _describe(self, step: SessionStep, period: int) -> FoundSignal:
        least = max(period, 2)
        run, noun, how = self._results[period - 1], "result", " by other actions"
        if self._near[period - 1].length >= least:
            run, noun, how = self._near[period - 1], "step", " with hardly any difference"
        if self._exact[period - 1].length >= least:
            how = ""
        tools = ", ".join(dict.fromkeys(tool for each in list(self._steps)[-period:] for tool in each.tools))
        what = f"the same {noun}" if period == 1 else f"the same {period} {noun}s"
        length = run.length + period
        detail = f"{what} came {length // period} times{how} ({tools})"
        return self.report(step, length / period, detail, run.began)


class StagnationDetector(Detector):
    """Steps that bring nothing: no new line of output, no new state of the files, no test that newly passes."""

    name = "stagnation"
    advice = "Write down what you know and what is missing, then take another way; or say what is in the way."
    patience = 8

    def __init__(self) -> None:
        self._seen: dict[int, None] = {}
        self._trees: set[str] = set()
        self._passing: set[str] = set()
        self._idle = 0

    def take_step(self, step: SessionStep) -> FoundSignal | None:
        """Count the steps in a row that brought nothing; the count is told once at each multiple of `patience`."""
        if not step.tools:
            return None
        self._idle = 0 if self._learn(step) else self._idle + 1
        if not self._idle or self._idle % self.patience:
            return None
        return self.report(step, self._idle, f"{self._idle} steps brought nothing new")

    def _learn(self, step: SessionStep) -> bool:
        new = [line for line in step.lines if line not in self._seen]
        self._seen.update(dict.fromkeys(new))
        while len(self._seen) > MOST_SEEN:
            del self._seen[next(iter(self._seen))]
        is_news = bool(new) and len(new) * 10 >= len(step.lines)
        if step.tree and step.tree not in self._trees:
            is_news = is_news or bool(self._trees)
            self._trees.add(step.tree)
        if not step.passing <= self._passing:
            is_news = True
            self._passing |= step.passing
        return is_news or (step.changed and not step.tree)


class ThrashDetector(Detector):
    """Changes that are made, taken back, and made again."""

    name = "thrash"
    advice = "Decide by a test or a reading which of the two states is right, and say why, before you change it again."

    def __init__(self) -> None:
        self._trees: dict[str, None] = {}
        self._last = ""
        self._returns = 0

    def take_step(self, step: SessionStep) -> FoundSignal | None:
        """Count returns to a state of the files that was left: the second one is told."""
        if not step.tree or step.tree == self._last:
            return None
        is_return = step.tree in self._trees
        self._trees[step.tree] = None
        self._last = step.tree
        if not is_return:
            return None
        self._returns += 1
        if self._returns % 2:
            return None
        return self.report(
            step, self._returns, f"the files came back to an earlier state {self._returns} times"
        )


class FailureDetector(Detector):
    """Most of the last actions failed, whatever they were."""

    name = "failures"
    advice = "Read the errors before the next action; use a tool that has worked here."
    window = 10

    def __init__(self) -> None:
        self._failed: deque[bool] = deque(maxlen=self.window)
        self._is_told = False

    def take_step(self, step: SessionStep) -> FoundSignal | None:
        """Note which actions failed; tell once until the rate has come down."""
        self._failed.extend(number < step.failed for number in range(len(step.tools)))
        failed = sum(self._failed)
        if failed * 2 < self.window:
            self._is_told = False
        if self._is_told or len(self._failed) < self.window or failed * 10 < self.window * 7:
            return None
        self._is_told = True
        return self.report(step, failed / self.window, f"{failed} of the last {self.window} actions failed")


class SameErrorDetector(Detector):
    """One and the same error after different actions."""

    name = "same-error"
    advice = (
        "The cause is elsewhere: read the error from its first line, and look at the place that it names."
    )
    patience = 4

    def __init__(self) -> None:
        self._error: frozenset[int] = frozenset()
        self._asked: set[str] = set()

    def take_step(self, step: SessionStep) -> FoundSignal | None:
        """Count different attempts that fail alike; a step without a failure is no answer to it."""
        if not step.error:
            return None
        if compare_sets(step.error, self._error) < 0.8:
            self._error, self._asked = step.error, set()
        before = len(self._asked)
        self._asked.add(step.asked)
        if len(self._asked) == before or len(self._asked) % self.patience:
            return None
        return self.report(step, len(self._asked), f"{len(self._asked)} different attempts failed alike")


class ThoughtDetector(Detector):
    """Long thought without any action, twice in a row."""

    name = "overthinking"
    advice = "Act now: the smallest step that tells whether you are right."
    longest = 6_000
    """Tokens of thought in a reply without actions."""

    def __init__(self) -> None:
        self._count = 0

    def take_step(self, step: SessionStep) -> FoundSignal | None:
        """Count replies in a row that only think."""
        is_long = not step.tools and step.thought >= self.longest
        self._count = self._count + 1 if is_long else 0
        if self._count < 2:
            return None
        return self.report(step, step.thought, f"{self._count} long thoughts without an action")


class ClaimDetector(Detector):
    """An answer that claims a check which never ran after the last change."""

    name = "claim"
    advice = "Run what you claim, and report what it said."

    def __init__(self) -> None:
        self._is_checked = False

    def take_step(self, step: SessionStep) -> FoundSignal | None:
        """Note changes and runs; judge a reply without actions."""
        if step.tools:
            if step.ran:
                self._is_checked = True
            elif step.changed:
                self._is_checked = False
            return None
        claim = _CLAIM.search(step.text)
        if claim is None or self._is_checked:
            return None
        return self.report(step, 1, f"“{' '.join(claim[0].split())}”, but nothing ran since the last change")


class MadeUpDetector(Detector):
    """A reply that writes the result of its own action instead of waiting for it."""

    name = "made-up-result"
    advice = "Results come from the tools. Make the call and wait for its result."

    def take_step(self, step: SessionStep) -> FoundSignal | None:
        """Look for a result in the reply's own text."""
        found = _MADE_UP.search(step.text)
        return (
            self.report(step, 1, f"the reply writes a result itself ({found[0].strip()})") if found else None
        )


def create_detectors() -> list[Detector]:
    """Create one detector of each kind."""
    return [
        LoopDetector(),
        StagnationDetector(),
        ThrashDetector(),
        FailureDetector(),
        SameErrorDetector(),
        ThoughtDetector(),
        ClaimDetector(),
        MadeUpDetector(),
    ]

"""Verifier by a rubric: one child session writes it before the work, a fresh one scores the change by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from agent.events import Event, RubricEvent
from agent.monitor.answers import GO_ON, GoOn
from agent.turn.runtime import Runtime
from agent.verify.verdict import Claim, Verdict, VerdictOutcome
from packages.search.reader import Reader, format_list, get_text_field
from packages.search.requirements.turn_changes import TurnChanges
from packages.search.rubric.rubric import MOST, WEIGHTS, Criterion, Score, compute_score, list_items
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.decision import Mode
from tools.core.workspace import Workspace

GOOD = 0.75
"""Weighted mean from which on the opinion is "pass": all of the core and most of the rest."""

POOR = 0.5
"""Below it the opinion is "fail"."""


@dataclass(slots=True, kw_only=True)
class RubricVerifier:
    """The change meets the rubric of its task. Its verdict is an opinion.

    The rubric is not told to the model that does the work, which could write to it; the scorer sees the rubric, the
    change and the files, and never what the author thought.
    record: appends an event to the log
    """

    workspace: Workspace
    reader: Reader
    record: Callable[[Event], object]
    name: str = "rubric"
    withholds_commit: bool = False
    criteria: list[Criterion] = field(default_factory=list)
    _changes: TurnChanges = field(init=False)

    def __post_init__(self) -> None:
        self._changes = TurnChanges(workspace=self.workspace)

    def begin_turn(self) -> None:
        """See `Verifier.begin_turn`."""
        self.criteria = []
        self._changes.reset()

    def track_event(self, event: Event) -> None:
        """Follow the changes; restore the rubric of a turn that a kill or a limit interrupted."""
        self._changes.track_event(event)
        if isinstance(event, RubricEvent) and event.stage == "written" and not self.criteria:
            self.criteria = read_criteria(event.items)

    async def prepare_turn(self, prompt: str) -> GoOn:
        """Let a reader of the repository write the rubric of a prompt, and log it; none where nothing can change."""
        if self.workspace.mode is Mode.READ_ONLY:
            return GO_ON
        self._changes.begin_turn()
        self.criteria = read_criteria(await self.reader.ask("rubric_write", prompt, {}))
        if self.criteria:
            self.record(RubricEvent(items=list_items(self.criteria, {})))
        return GO_ON

    async def verify(self, claim: Claim) -> Verdict | None:
        """Score the change; None without a rubric, a change, or an answer that can be read."""
        if not self.criteria or not self._changes.list_changed_files():
            return None
        rows = format_list([f"{each.id}: {each.text}" for each in self.criteria])
        parts = {"rubric": rows, "diff": self._changes.format_diff()}
        scores = read_scores(await self.reader.ask("rubric_score", claim.prompt, parts), self.criteria)
        total = compute_score(self.criteria, scores)
        if total is None:
            return None
        items = list_items(self.criteria, scores)
        self.record(RubricEvent(stage="scored", items=items, score=round(total, 3)))
        outcome: VerdictOutcome = "pass" if total >= GOOD else "fail" if total < POOR else "unknown"
        told = f"the rubric gives {total:.2f} of 1, {len(scores)} of {len(self.criteria)} scored"
        missed = [
            f"{each.id}: {each.text}: {scores[each.id].reason}"
            for each in self.criteria
            if each.id in scores and scores[each.id].value < 1
        ]
        detail = "\n".join([told, *missed])
        return Verdict(outcome=outcome, evidence="opinion", name=self.name, detail=detail)


def read_criteria(items: Sequence[Mapping[str, Any]]) -> list[Criterion]:
    """Return the criteria of an answer or of a logged rubric; objects without a text are left out."""
    texts = {text: each.get("weight") for each in reversed(items) if (text := get_text_field(each, "text"))}
    return [
        Criterion(id=f"c{number}", text=text, weight=next((known for known in WEIGHTS if known == weight), 2))
        for number, (text, weight) in enumerate(list(reversed(texts.items()))[:MOST], 1)
    ]


def read_scores(items: Sequence[Mapping[str, Any]], criteria: Sequence[Criterion]) -> dict[str, Score]:
    """Return the scores of an answer by criterion; other values than 0, 0.5 and 1 do not count."""
    ids = {each.id for each in criteria}
    found: dict[str, Score] = {}
    for each in items:
        value = next((known for known in (0.0, 0.5, 1.0) if known == each.get("score")), None)
        if value is not None and (id_ := get_text_field(each, "id")) in ids:
            found[id_] = Score(value=value, reason=get_text_field(each, "reason"))
    return found


def attach_rubric(runtime: Runtime) -> None:
    """Let the change of each turn be scored by a rubric of its task."""
    verifier = RubricVerifier(
        workspace=runtime.workspace, reader=Reader(runtime=runtime), record=runtime.session.append
    )
    runtime.conclusion.verifiers.append(verifier)
    runtime.conclusion.preparations.append(verifier)

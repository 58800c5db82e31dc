"""Decide when to compact the history and by which stage; the decisions are returned as events for the log.

The stages go from free to costly: outputs are truncated on arrival; old steps are folded into records in large
batches, because each compaction breaks the provider's prompt cache once; outputs are masked where folding is not
enough; the past is summarised when its records have grown too long. The last stage is code and cannot fail.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from agent.app_dirs import Home
from agent.context.compression.token_budget import Budget
from agent.context.ledger.session_facts import Facts
from agent.context.ledger.state_ledger import render_ledger
from agent.context.projection.message_slots import FoldMessage, Slot, count_bytes, find_steps
from agent.context.projection.projection import NEVER_SENT, Projection
from agent.events import Compaction, Fold
from agent.model.protocol import AssistantMessage, ToolMessage
from agent.session_settings import DEFAULT_CONTEXT, ContextSettings
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from agent.context.projection.digest import KnownWords

WORTH = 0.10
"""Share of the history that a compaction has to save at least; otherwise it is skipped."""

LOOK_EVERY = 1_000
"""Tokens of new steps after which to search again for superseded outputs."""

SOFT = 300
"""Tokens that masking has to save at least when no limit forces it."""

LOOKED_THROUGH = 1 << 20
"""Newest bytes of a log that was never compacted in which to search for names that later steps used."""

Summarise = Callable[[str], Awaitable[str]]
"""Ask a model for a summary; "" if no model is available or the call fails."""


@dataclass(slots=True, kw_only=True)
class Compressor:
    """Compaction decisions for one session.

    settings: sizes at which the history is compacted
    window: current context window of the model, in tokens
    summarise: asks a model for a summary; None: summaries are built by code
    summarise_here: the same at the end of the conversation, by its own model; None if another model summarises
    list_running_commands: background processes, one short description each
    window_limit: what the server was seen to read at most, None if it reads all
    cold: the provider's cache holds nothing of the history (after a switch of the model or a resumed session)
    """

    projection: Projection
    facts: Facts
    window: Callable[[], int]
    settings: ContextSettings = DEFAULT_CONTEXT
    summarise: Summarise | None = None
    summarise_here: Callable[[], Summarise | None] = lambda: None
    list_running_commands: Callable[[], Iterable[str]] = tuple
    window_limit: int | None = None
    cold: bool = False
    _tried_at: int = 0
    _looked_at: int = 0

    async def compact_if_due(self) -> AsyncIterator[Compaction]:
        """Yield the compactions to log before the next request, one by one; none while there is room."""
        budget = self.compute_budget()
        if self.facts.forget:
            yield self._forget_outputs(self.facts.forget)
        if self.projection.byte_count >= NEVER_SENT and self.projection.raw_tokens >= 2 * budget.window:
            yield self._summarise_long_log(budget)
        elif self.projection.raw_tokens >= max(budget.batch_tokens + budget.recent_tokens, self._tried_at):
            self._tried_at = 0
            if event := self._fold_steps(
                self._find_recent_start(budget.recent_tokens),
                f"{budget.batch_tokens} tokens of steps to fold",
            ):
                yield event
                self.cold = True  # the cache ends at the first change, before all verbatim steps
            else:  # not worth it yet: try again when there is more
                self._tried_at = self.projection.raw_tokens + budget.batch_tokens // 2
        if event := self._mask_superseded(budget):
            yield event
        if self.projection.fold_tokens > budget.past_tokens:
            yield await self.summarise_past("the records of the past have grown too long")
        if self.total_tokens > budget.hard_limit:
            async for event in self.compact_to_limit(budget.hard_limit):
                yield event

    async def compact_on_request(self, focus: str = "") -> AsyncIterator[Compaction]:
        """Fold all but the last step into one summary (`/compact`)."""
        start = self._find_recent_start(0)
        if any(not slot.is_from_person for slot in self.projection.slots[:start]):
            yield await self.summarise_past(
                f"asked for{f': {focus}' if focus else ''}", focus=focus, recent=0
            )

    async def compact_to_limit(self, limit: int) -> AsyncIterator[Compaction]:
        """Bring the next request under `limit` tokens, mildest stage first; the last stages always save."""
        reason = f"over {limit} tokens"
        for stage in (self._fold_all, self._mask_all, self._summarise_all, self._shorten_prompts):
            if self.total_tokens <= limit:
                return
            if event := stage(reason):
                yield event
        if self.total_tokens > limit and (event := self._cut_all(reason, limit)):
            yield event

    async def summarise_past(self, reason: str, *, focus: str = "", recent: int | None = None) -> Compaction:
        """Summarise the past in one text, by a model if there is one; code checks it."""
        from agent.context.compression import summary
        from agent.context.compression.provenance import mark_foreign_orders

        budget = self.compute_budget()
        slots = self.projection.slots[
            : self._find_recent_start(budget.recent_tokens if recent is None else recent)
        ]
        self.facts.used = summary.find_references_in_use(self.projection.slots, self.facts.used)
        text = ""
        if self.summarise is not None and (
            written := await self._write_summary(self.summarise, slots, focus)
        ):
            head = f"[summary up to e{max(s.last for s in slots)}; recall(find=WORDS) searches what it leaves out]"
            text = f"{head}\n{summary.complete_summary(mark_foreign_orders(written, slots), self.facts)}"
        return self._build_summary_event(slots, text, reason)

    async def _write_summary(self, summarise: Summarise, slots: Sequence[Slot], focus: str) -> str:
        """Ask for a summary: the conversation's own model where that keeps its cache and there is room."""
        from agent.context.compression import summary

        guideline = summary.read_guideline(Home.from_environment().config / summary.OWN_GUIDELINE)
        here = self.summarise_here()
        asked = summary.build_inline_prompt(self.facts, focus=focus, guideline=guideline)
        if (
            here is not None
            and self.total_tokens + self.projection.estimate_tokens(count_bytes(asked))
            < self.compute_budget().hard_limit
        ):
            return await here(asked)
        return await summarise(
            summary.build_summary_prompt(slots, self.facts, focus=focus, guideline=guideline)
        )

    def render_state(self, left: str = "", running: Iterable[str] | None = None) -> str:
        """Return the state ledger for the end of the next request. left: remaining limits; running: see the class"""
        shortened = self.projection.prompts_shortened
        processes = self.list_running_commands() if running is None else running
        return render_ledger(
            self.facts,
            shortened=shortened,
            whole_from=self.projection.verbatim_from,
            processes=processes,
            left=left,
        )

    def render_full_state(self) -> str:
        """Return the complete state ledger, for the user, who does not see the model's actions."""
        return render_ledger(
            self.facts, shortened=self.projection.prompts_shortened, processes=self.list_running_commands()
        )

    def postpone_compaction(self) -> None:
        """Let the history grow by a batch before the next unforced compaction, after the user undid one."""
        self._tried_at = self.projection.raw_tokens + self.compute_budget().batch_tokens

    def find_window(self) -> int:
        """Return the tokens of a request and its answer that the model can read."""
        window = self.window()
        return window if self.window_limit is None else min(window, self.window_limit)

    def compute_budget(self) -> Budget:
        return Budget(window=self.find_window(), fixed=self.projection.fixed_tokens, settings=self.settings)

    @property
    def total_tokens(self) -> int:
        """Estimated tokens of the next request."""
        return self.projection.tokens + self.projection.fixed_tokens

    def _find_recent_start(self, recent: int) -> int:
        """Return the index of the first verbatim slot: the last step always, earlier ones while they fit `recent`."""
        slots = self.projection.slots
        start, used = len(slots), 0
        whole = 0
        for step in reversed(find_steps(slots)):
            used += sum(slots[i].size for i in step)
            if isinstance(slots[step.start].message, FoldMessage):
                break
            if whole and self.projection.estimate_tokens(used) > recent:
                break
            start = step.start
            whole += isinstance(slots[step.start].message, AssistantMessage)
        return start

    def _fold_steps(self, end: int, reason: str, *, worth: float = WORTH) -> Compaction | None:
        from agent.context.compression import folding

        slots = self.projection.slots
        folds = folding.fold_steps(slots, 0, end, _collect_remaining_words(slots[:end]))
        saved = sum(_count_fold_bytes(slots, fold) - count_bytes(fold.text) for fold in folds)
        if not folds or self.projection.estimate_tokens(saved) < worth * self.projection.tokens:
            return None
        return self._build_event("folding", saved, reason, folds=folds)

    def _mask_superseded(self, budget: Budget) -> Compaction | None:
        """Mask outputs that later ones supersede, if that pays for the broken cache (the soft trigger)."""
        raw, cold = self.projection.raw_tokens, self.cold
        self._looked_at = min(self._looked_at, raw)
        if not cold and raw - self._looked_at < LOOK_EVERY:
            return None
        self._looked_at, self.cold = raw, False
        from agent.context.compression import cache_economics
        from agent.context.projection import masking

        slots = self.projection.slots
        gone = masking.find_superseded(slots)
        gone = {at: by for at, by in gone.items() if not slots[at].short and slots[at].size >= masking.WORTH}
        if not gone:
            return None
        texts = masking.mask_outputs(slots, 0, len(slots), _collect_remaining_words(slots), only=gone)
        done = sum(isinstance(slot.message, AssistantMessage) for slot in slots) or 1
        left = max(budget.batch_tokens + budget.recent_tokens - raw, 0) / max(raw / done, 1.0)
        left = min(left, done / 2)  # the turn may end earlier: half as many steps again is a fair guess
        if not (texts := cache_economics.select_paying_masks(slots, texts, steps=left, cold=cold)):
            return None
        event = self._build_event("masking", 0, "superseded, and masking them pays", masked=texts)
        saved = self.projection.byte_count - self.projection.count_bytes_after(event)
        if self.projection.estimate_tokens(saved) < max(SOFT, int(WORTH * self.projection.raw_tokens)):
            return None  # references in use would only reappear elsewhere
        event.tokens_after = event.tokens_before - self.projection.estimate_tokens(saved)
        return event

    def _forget_outputs(self, refs: Sequence[str]) -> Compaction:
        """Mask the outputs that the model named, by their own reference or by their step, with one line each."""
        slots: list[Slot] = []
        step = ""
        for slot in self.projection.slots:
            if not isinstance(slot.message, ToolMessage):
                step = f"e{slot.first}"
            elif not slot.short and {slot.ref, f"e{slot.first}", step} & {ref for ref in refs if ref}:
                slots.append(slot)
        saved = sum(max(slot.size - 100, 0) for slot in slots)
        return self._build_event(
            "forget", saved, "asked for by the model", masked={f"e{s.first}": "" for s in slots}
        )

    def _fold_all(self, reason: str) -> Compaction | None:
        return self._fold_steps(self._find_recent_start(0), reason, worth=0.0)

    def _mask_all(self, reason: str) -> Compaction | None:
        from agent.context.projection import masking

        slots = self.projection.slots
        texts = masking.mask_outputs(slots, 0, len(slots), _collect_remaining_words(slots))
        saved = sum(
            slot.size - count_bytes(texts[f"e{slot.first}"]) for slot in slots if f"e{slot.first}" in texts
        )
        return self._build_event("masking", saved, reason, masked=texts) if texts else None

    def _summarise_all(self, reason: str) -> Compaction | None:
        from agent.context.compression import summary

        slots = self.projection.slots[: self._find_recent_start(0)]
        self.facts.used = summary.find_references_in_use(self.projection.slots, self.facts.used)
        return (
            self._build_summary_event(slots, "", reason)
            if any(not slot.is_from_person for slot in slots)
            else None
        )

    def _summarise_long_log(self, budget: Budget) -> Compaction:
        """Summarise all but the newest steps of a log that was never compacted (an import, say).

        Its records alone would exceed the window and be summarised in turn. Names in use are searched in the
        newest part.
        """
        from agent.context.compression import summary

        self.cold = True
        slots = self.projection.slots
        newest, room = len(slots), LOOKED_THROUGH
        while newest and room > 0:
            newest -= 1
            room -= slots[newest].size
        self.facts.used = summary.find_references_in_use(slots[newest:], self.facts.used)
        return self._build_summary_event(
            slots[: self._find_recent_start(budget.recent_tokens)], "", "far longer than the window"
        )

    def _shorten_prompts(self, reason: str) -> Compaction | None:
        """Truncate all long prompts but the last; their constraints remain in the summary and the ledger."""
        said = [slot for slot in self.projection.slots if slot.is_from_person]
        texts = {
            f"e{slot.first}": f'{slot.message.text[:400]}\n[… shortened; recall(ref="e{slot.first}") shows all]'
            for slot in said[:-1]
            if slot.size > 800
        }
        saved = sum(
            slot.size - count_bytes(texts[f"e{slot.first}"]) for slot in said if f"e{slot.first}" in texts
        )
        return self._build_event("masking", saved, reason, masked=texts) if texts else None

    def _cut_all(self, reason: str, limit: int) -> Compaction | None:
        """Cut every long message to its beginning and end, and arguments to their beginnings (the last resort)."""
        from agent.context.projection import truncation

        projection = self.projection
        slots = projection.slots
        others = projection.byte_count - sum(slot.size for slot in truncation.find_long_slots(slots))
        room = projection.estimate_bytes(limit - projection.fixed_tokens) * 9 // 10 - others
        if not (texts := truncation.cut_slots(slots, room)):
            return None
        event = self._build_event("masking", 0, reason, masked=texts)
        event.tokens_after = event.tokens_before - projection.estimate_tokens(
            projection.byte_count - projection.count_bytes_after(event)
        )
        return event

    def _build_summary_event(self, slots: Sequence[Slot], text: str, reason: str) -> Compaction:
        from agent.context.compression import summary

        inside = [slot for slot in slots if not slot.is_from_person]
        room = max(
            int(self.compute_budget().past_tokens / 2 / max(self.projection.estimate_tokens(1000), 1) * 1000),
            2_000,
        )
        text = text or summary.summarise_by_code(inside, self.facts, room=room)
        first = min(slot.first for slot in inside)  # a user message within a run of steps precedes its record
        fold = Fold(first=f"e{first}", last=f"e{max(slot.last for slot in inside)}", text=text)
        saved = sum(slot.size for slot in inside) - count_bytes(text)
        event = self._build_event("summary", saved, reason, folds=[fold])
        event.state = self.facts.as_data()
        return event

    def _build_event(
        self,
        stage: str,
        saved: int,
        reason: str,
        *,
        masked: dict[str, str] | None = None,
        folds: list[Fold] | None = None,
    ) -> Compaction:
        before = self.total_tokens
        return Compaction(
            stage=stage,
            masked=masked or {},
            folds=folds or [],
            tokens_before=before,
            tokens_after=before - self.projection.estimate_tokens(saved),
            reason=reason,
        )


def _collect_remaining_words(slots: Sequence[Slot]) -> KnownWords:
    """Collect the words of the parts that folding `slots` does not remove."""
    from agent.context.projection.digest import KnownWords

    known = KnownWords()
    for slot in slots:
        if slot.is_from_person or isinstance(slot.message, FoldMessage):
            known.add_text(slot.message.text)
    return known


def _count_fold_bytes(slots: Sequence[Slot], fold: Fold) -> int:
    first, last = int(fold.first[1:]), int(fold.last[1:])
    return sum(s.size for s in slots if first <= s.first and s.last <= last and not s.is_from_person)

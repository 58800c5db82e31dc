"""When the history is shortened, by which stage, and what each leaves behind: decisions only; the log gets events.

The stages go from free to costly: outputs were shaped when they came in; old steps fold into records in large
batches, because each compaction breaks a provider's prompt cache once; outputs are masked where folding is not
enough; all of the past is summed up when its records have grown too long. The last stage is code and cannot fail.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

from agent.context.compression import cache_economics, folding, summary
from agent.context.compression.provenance import mark_foreign_orders
from agent.context.compression.token_budget import DEFAULT_SHARES, Budget, Shares
from agent.context.ledger.session_facts import Facts
from agent.context.ledger.state_ledger import render_ledger
from agent.context.projection import masking, truncation
from agent.context.projection.digest import KnownWords
from agent.context.projection.message_slots import FoldMessage, Slot, count_bytes, find_steps
from agent.context.projection.projection import NEVER_SENT, Projection
from agent.events import Compaction, Fold
from agent.model.protocol import AssistantMessage, ToolMessage

WORTH = 0.10
"""Of the history: what a compaction has to save at least, or it is not done."""

LOOK_EVERY = 1_000
"""Tokens of new steps after which it is worth looking for outputs that were superseded."""

SOFT = 300
"""Tokens that masking has to save at least where nothing forces it."""

LOOKED_THROUGH = 1 << 20
"""Bytes of a log that was never shortened in which names are looked for that later steps asked for: the newest."""

Summarise = Callable[[str], Awaitable[str]]
"""Has a model write a summary; "" when none can be asked or it fails."""


@dataclass(slots=True, kw_only=True)
class Compressor:
    """Decides for one session.

    window: of the model in tokens, now; summarise: has a model write summaries, None: code does
    summarise_here: the same at the end of the conversation, by its own model; None where another one writes summaries
    running: background processes, each in a few words
    cold: the provider's cache holds nothing of the history (another model was taken, a session taken up again)
    """

    projection: Projection
    facts: Facts
    window: Callable[[], int]
    shares: Shares = DEFAULT_SHARES
    summarise: Summarise | None = None
    summarise_here: Callable[[], Summarise | None] = lambda: None
    running: Callable[[], Iterable[str]] = tuple
    cold: bool = False
    _tried_at: int = 0
    _looked_at: int = 0

    async def compact_if_due(self) -> AsyncIterator[Compaction]:
        """The compactions to be logged before the next request, one by one; none while there is room."""
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
                self.cold = True  # from the first change on, and that is all that stays whole
            else:  # not worth it yet: look again when there is more
                self._tried_at = self.projection.raw_tokens + budget.batch_tokens // 2
        if event := self._mask_superseded(budget):
            yield event
        if self.projection.fold_tokens > budget.past_tokens:
            yield await self.summarise_past("the records of the past have grown too long")
        if self.total_tokens > budget.hard_limit:
            async for event in self.compact_to_limit(budget.hard_limit):
                yield event

    async def compact_on_request(self, focus: str = "") -> AsyncIterator[Compaction]:
        """What `/compact` does: all but the last step folds into one summary."""
        start = self._find_recent_start(0)
        if any(not slot.is_from_person for slot in self.projection.slots[:start]):
            yield await self.summarise_past(
                f"asked for{f': {focus}' if focus else ''}", focus=focus, recent=0
            )

    async def compact_to_limit(self, limit: int) -> AsyncIterator[Compaction]:
        """Whatever brings the next request under `limit` tokens, the mildest first; the last stages always save."""
        reason = f"over {limit} tokens"
        for stage in (self._fold_all, self._mask_all, self._summarise_all, self._shorten_prompts):
            if self.total_tokens <= limit:
                return
            if event := stage(reason):
                yield event
        if self.total_tokens > limit and (event := self._cut_all(reason, limit)):
            yield event

    async def summarise_past(self, reason: str, *, focus: str = "", recent: int | None = None) -> Compaction:
        """All of the past in one text; by a model if there is one, checked by code."""
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
        """A model's summary: of the conversation's own model where that keeps its cache, and where there is room."""
        guideline = summary.read_guideline()
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
        """The state ledger, for the end of the next request. left: what remains of the limits; running: see above"""
        shortened = self.projection.prompts_shortened
        processes = self.running() if running is None else running
        return render_ledger(
            self.facts,
            shortened=shortened,
            whole_from=self.projection.verbatim_from,
            processes=processes,
            left=left,
        )

    def render_full_state(self) -> str:
        """The state ledger for people, who do not see what the model does."""
        return render_ledger(
            self.facts, shortened=self.projection.prompts_shortened, processes=self.running()
        )

    def postpone_compaction(self) -> None:
        """A person took a compaction back: let the history grow by a batch before the next one that is not forced."""
        self._tried_at = self.projection.raw_tokens + self.compute_budget().batch_tokens

    def compute_budget(self) -> Budget:
        return Budget(window=self.window(), fixed=self.projection.fixed_tokens, shares=self.shares)

    @property
    def total_tokens(self) -> int:
        """Estimated tokens of the next request."""
        return self.projection.tokens + self.projection.fixed_tokens

    def _find_recent_start(self, recent: int) -> int:
        """Index of the first slot that stays whole: the last step always, and others while they fit into `recent`."""
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
        slots = self.projection.slots
        folds = folding.fold_steps(slots, 0, end, _collect_remaining_words(slots[:end]))
        saved = sum(_count_fold_bytes(slots, fold) - count_bytes(fold.text) for fold in folds)
        if not folds or self.projection.estimate_tokens(saved) < worth * self.projection.tokens:
            return None
        return self._build_event("folding", saved, reason, folds=folds)

    def _mask_superseded(self, budget: Budget) -> Compaction | None:
        """The soft trigger: outputs that later ones take the place of, when that pays for the broken cache."""
        raw, cold = self.projection.raw_tokens, self.cold
        self._looked_at = min(self._looked_at, raw)
        if not cold and raw - self._looked_at < LOOK_EVERY:
            return None
        self._looked_at, self.cold = raw, False
        slots = self.projection.slots
        gone = masking.find_superseded(slots)
        gone = {at: by for at, by in gone.items() if not slots[at].short and slots[at].size >= masking.WORTH}
        if not gone:
            return None
        texts = masking.mask_outputs(slots, 0, len(slots), _collect_remaining_words(slots), only=gone)
        done = sum(isinstance(slot.message, AssistantMessage) for slot in slots) or 1
        left = max(budget.batch_tokens + budget.recent_tokens - raw, 0) / max(raw / done, 1.0)
        left = min(left, done / 2)  # a turn may end before: half as long again is as good a guess as any
        if not (texts := cache_economics.select_paying_masks(slots, texts, steps=left, cold=cold)):
            return None
        event = self._build_event("masking", 0, "superseded, and masking them pays", masked=texts)
        saved = self.projection.byte_count - self.projection.count_bytes_after(event)
        if self.projection.estimate_tokens(saved) < max(SOFT, int(WORTH * self.projection.raw_tokens)):
            return None  # what is referred to would only come back in another place
        event.tokens_after = event.tokens_before - self.projection.estimate_tokens(saved)
        return event

    def _forget_outputs(self, refs: Sequence[str]) -> Compaction:
        """The outputs that the model named, by themselves or by their step, by one line each."""
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
        slots = self.projection.slots
        texts = masking.mask_outputs(slots, 0, len(slots), _collect_remaining_words(slots))
        saved = sum(
            slot.size - count_bytes(texts[f"e{slot.first}"]) for slot in slots if f"e{slot.first}" in texts
        )
        return self._build_event("masking", saved, reason, masked=texts) if texts else None

    def _summarise_all(self, reason: str) -> Compaction | None:
        slots = self.projection.slots[: self._find_recent_start(0)]
        self.facts.used = summary.find_references_in_use(self.projection.slots, self.facts.used)
        return (
            self._build_summary_event(slots, "", reason)
            if any(not slot.is_from_person for slot in slots)
            else None
        )

    def _summarise_long_log(self, budget: Budget) -> Compaction:
        """All but the newest steps of a log that was never shortened (an import, say): its records alone would be more
        than the window, and would be summed up in their turn. What was asked for is looked for in the newest part."""
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
        """Long prompts but the last keep their beginning; their demands stand in the summary and the ledger."""
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
        """The last resort: every long message by its beginning and end, arguments by their beginnings."""
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
        inside = [slot for slot in slots if not slot.is_from_person]
        room = max(
            int(self.compute_budget().past_tokens / 2 / max(self.projection.estimate_tokens(1000), 1) * 1000),
            2_000,
        )
        text = text or summary.summarise_by_code(inside, self.facts, room=room)
        first = min(slot.first for slot in inside)  # what was said in a run of steps stands before its record
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
    """What stands in the parts that no folding of `slots` takes away."""
    known = KnownWords()
    for slot in slots:
        if slot.is_from_person or isinstance(slot.message, FoldMessage):
            known.add_text(slot.message.text)
    return known


def _count_fold_bytes(slots: Sequence[Slot], fold: Fold) -> int:
    first, last = int(fold.first[1:]), int(fold.last[1:])
    return sum(s.size for s in slots if first <= s.first and s.last <= last and not s.is_from_person)

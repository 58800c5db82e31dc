"""A run of complete steps in a request, in whose place its record from a compaction is sent."""

from __future__ import annotations

from collections.abc import Sequence

from agent.context.projection.message_slots import FoldMessage, Slot, count_bytes, find_steps
from agent.context.projection.outline import Row
from agent.events import Compaction, Event, Fold
from agent.session.log_index import parse_event_id


def fold_slots(slots: Sequence[Slot], fold: Fold, by: int) -> list[Slot]:
    """Return the slots with one text in place of the complete steps of a run; user messages within it are kept.

    A run without any of its steps gets its text, too (a log may be loaded from its last summary on), but
    not within a larger fold. by: number of the compaction
    """
    first, last = parse_event_id(fold.first), parse_event_id(fold.last)
    folds = [(s.first, s.last) for s in slots if isinstance(s.message, FoldMessage)]
    if any(a <= first and last <= b and (a, b) != (first, last) for a, b in folds):
        return list(slots)
    drop: set[int] = set()
    for step in find_steps(slots):
        if all(first <= slots[i].first and slots[i].last <= last for i in step):
            drop.update(step)
    kept = [slot for i, slot in enumerate(slots) if i not in drop]
    later = [i for i, each in enumerate(kept) if each.is_from_person and each.first > last]
    later += [step.start for step in find_steps(kept) if any(kept[i].last > last for i in step)]
    slot = Slot(FoldMessage(text=fold.text), first, last, count_bytes(fold.text), short=True, by=(by,))
    kept.insert(min(later, default=len(kept)), slot)
    return kept


def rebuild_fold_slot(row: Row, event: Event) -> Slot:
    """Return the record of a run of steps from its compaction. Raises ValueError if it has none."""
    for fold in reversed(event.folds if isinstance(event, Compaction) else []):
        if (parse_event_id(fold.first), parse_event_id(fold.last)) == (row.first, row.last):
            size = count_bytes(fold.text)
            return Slot(FoldMessage(text=fold.text), row.first, row.last, size, short=True, by=row.by[:1])
    raise ValueError(f"no record of e{row.first} to e{row.last}")

"""/cost: tokens and dollars of the session by kind, role and model, or by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cli.output.amounts import format_duration, format_money, format_price, format_tokens
from cli.output.style.terminal import measure_columns
from cli.tui.commands.slash_command import Command
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.sanitize import sanitize_text
from tools.core.text import format_count

if TYPE_CHECKING:
    from agent.events import UsageRecord
    from agent.session.usage_report import UsageItem
    from cli.tui.conversation.conversation import Conversation

SHOWN_STEPS = 40
"""Steps that are listed, the last ones; those before are one row."""


async def cost(chat: Conversation, argument: str) -> None:
    """Show tokens and dollars of the whole session."""
    if argument not in ("", "steps"):
        raise UserError(Fault.USAGE, f"/cost does not know {argument!r}", "/cost, or /cost steps")
    bill = chat.history.bill
    if not bill.total.usage.input + bill.total.usage.output:
        chat.show_message(f"{format_count(bill.total.calls, 'call')}, no tokens used")
        return
    if argument:
        chat.show_message("\n".join(_format_steps(chat)))
        return
    items = bill.items
    if len(items) == 1:
        chat.show_message(f"{_format_item(bill.total)}\n  all by {items[0].role} ({items[0].model})")
        return
    lines = [f"  {each.role} ({each.model}): {_format_item(each)}" for each in items]
    chat.show_message("\n".join([_format_item(bill.total), *lines]))


def _format_item(item: UsageItem) -> str:
    spent = item.usage
    kinds = [f"{format_tokens(spent.cached)} of them cached"] if spent.cached else []
    kinds += [f"{format_tokens(spent.written)} written to the cache"] if spent.written else []
    cached = f" ({', '.join(kinds)})" if kinds else ""
    thought = f" ({format_tokens(spent.reasoning)} of them reasoning)" if spent.reasoning else ""
    return (
        f"{format_count(item.calls, 'call')}: {format_tokens(spent.input)} tokens in{cached},"
        f" {format_tokens(spent.output)} out{thought}; {format_price(spent, unpriced=item.has_unpriced_calls)};"
        f" {format_duration(spent.seconds)}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """One call of a model. turn: number of its prompt; work: what it was for"""

    turn: int
    usage: UsageRecord
    work: str


def _format_steps(chat: Conversation) -> Iterator[str]:
    """Yield a table with a row for each call, below its prompt; columns without a number are left out."""
    prompts = chat.history.prompts
    steps = list(_list_steps(chat))
    left, shown = steps[:-SHOWN_STEPS], steps[-SHOWN_STEPS:]
    rows = _align(shown)
    yield f"      {rows[0]}"
    if left:
        yield f"… {format_count(len(left), 'earlier step')}: {_sum_costs(left)}"
    turn = 0
    for number, (step, row) in enumerate(zip(shown, rows[1:], strict=True), len(left) + 1):
        if step.turn != turn and (turn := step.turn):
            first = sanitize_text(prompts[turn - 1].strip().partition("\n")[0])
            yield f"{first} · {_sum_costs([each for each in steps if each.turn == turn])}"
        yield f"{number:4}  {row}"


def _list_steps(chat: Conversation) -> Iterator[_Step]:
    from agent.events import BY_STRATEGY, MessageEvent, Prompt, SideCall

    turn = 0
    for event in chat.runtime.session.replayed:
        if isinstance(event, Prompt):
            turn += 1
        elif isinstance(event, MessageEvent) and not event.model.startswith(BY_STRATEGY):
            tools = ", ".join(dict.fromkeys(each.tool for each in event.actions))
            yield _Step(turn=turn, usage=event.usage, work=sanitize_text(tools) or "answer")
        elif isinstance(event, SideCall):
            yield _Step(turn=turn, usage=event.usage, work=sanitize_text(event.purpose))


def _align(steps: Sequence[_Step]) -> list[str]:
    """Return the heading and the rows, with the columns that have a number anywhere."""
    used = [each.usage for each in steps]
    columns = [
        ("in", [each.input for each in used]),
        ("cached", [each.cached for each in used]),
        ("written", [each.written or 0 for each in used]),
        ("out", [each.output for each in used]),
        ("reasoning", [each.reasoning for each in used]),
    ]
    texts = [[title, *map(format_tokens, values)] for title, values in columns if any(values)]
    texts.append(["cost", *("" if each.cost is None else format_money(each.cost) for each in used)])
    texts.append(["time", *(format_duration(each.seconds) for each in used)])
    widths = [max(map(measure_columns, column)) for column in texts]
    works = ["for", *(each.work for each in steps)]
    return [
        "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) + f"  {work}"
        for row, work in zip(zip(*texts, strict=True), works, strict=True)
    ]


def _sum_costs(steps: Sequence[_Step]) -> str:
    known = [each.usage.cost for each in steps if each.usage.cost is not None]
    return format_money(sum(known)) if known else "price unknown"


COMMANDS = (
    Command(
        name="/cost",
        argument="[steps]",
        help="tokens and dollars so far",
        details="/cost steps: by step: tokens by kind, cost, time, and what each was for.",
        run=cost,
        choices=lambda chat: [("steps", "by step")],
    ),
)

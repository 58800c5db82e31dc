"""/strategy: how the prompts of this session are worked on, with how many attempts and for how much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from cli.tui.commands.attempts.attempts_command import MOST_ATTEMPTS
from cli.tui.commands.slash_command import Command
from cli.tui.frontend import Choice
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from agent.session_settings import StrategySettings
    from cli.tui.conversation.conversation import Conversation

_USAGE = "/strategy [NAME] [attempts N] [budget AMOUNT|off]"


async def strategy(chat: Conversation, argument: str) -> None:
    """Set the strategy of this session's prompts; without an argument, chosen from a list."""
    from cli.tui.commands.attempts.session_strategy import describe_strategy, set_strategy

    now = chat.settings.session.strategy
    words = argument.split()
    if not words:
        names = [name for name, _ in _list_notes()]
        rows = [
            Choice(label=name, about=sanitize_text(about)[:200], current=name == now.name)
            for name, about in _list_notes()
        ]
        chosen = await chat.front.pick(f"Which strategy? Now: {describe_strategy(now)}", rows)
        if chosen is None:
            return
        words = [names[chosen]]
    set_strategy(chat, _parse(words, now))


def _parse(words: list[str], now: StrategySettings) -> StrategySettings:
    """Return the settings with what the words change. Raises UserError"""
    from agent.budget.budget_text import FORMS, Budget, parse_budget
    from agent.strategy.strategy_table import check_strategy_name

    left = list(words)
    if left and left[0] not in ("attempts", "budget"):
        check_strategy_name(left[0])
        now = replace(now, name=left.pop(0))
    if left and left[0] == "attempts":
        count = left[1] if len(left) > 1 else ""
        if not count.isdecimal() or not 1 <= int(count) <= MOST_ATTEMPTS:
            raise UserError(
                Fault.USAGE, f"attempts {count!r}", f"A number from 1 to {MOST_ATTEMPTS}: {_USAGE}"
            )
        now, left = replace(now, attempts=int(count)), left[2:]
    if left and left[0] == "budget":
        text, left = " ".join(left[1:]), []
        try:
            if text != "off" and parse_budget(text) == Budget():
                raise ValueError(repr(text))
        except ValueError as error:
            raise UserError(Fault.USAGE, f"no budget: {error}", f"off, or {FORMS}") from None
        now = replace(now, budget="" if text == "off" else text)
    if left:
        raise UserError(Fault.USAGE, f"unexpected words: {' '.join(left)!r}", _USAGE)
    return now


def _list_notes() -> Iterator[tuple[str, str]]:
    """Yield the strategies with their costs and uses."""
    from agent.strategy.strategy_table import read_strategies
    from sandbox.extensions import list_foreign_extensions

    notes = read_strategies()
    for name, note in notes.items():
        yield name, f"{note.summary}; costs {note.cost}; pays {note.pays}"
    for name, entry in list_foreign_extensions("strategies").items():
        if name not in notes:
            yield name, f"of your environment: {entry.value}"


def _complete(chat: Conversation) -> Iterator[tuple[str, str]]:
    yield from _list_notes()
    yield from (("attempts", "N: most attempts of a turn"), ("budget", "AMOUNT: 5, 200k tokens, 10m; off"))


COMMANDS = (
    Command(
        name="/strategy",
        argument="[NAME]",
        help="how prompts are worked on; attempts, budget",
        details="Without a name: a list with costs and uses.\n"
        "/strategy NAME attempts N: most attempts of a turn\n"
        "/strategy budget AMOUNT: limit of a turn with all that it starts (5, 200k tokens, 10m); off for none\n"
        "It holds for this session, also when it is resumed. For all: setting strategy.name",
        run=strategy,
        choices=_complete,
        while_working=False,
    ),
)

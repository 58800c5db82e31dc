"""Question after a turn that ended in a proposal: whether to write its doubtful changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.tui.frontend import Option, Question
from tools.session.finish import PROPOSED

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation


async def offer_proposal(chat: Conversation) -> None:
    """Ask whether to write the changes that the offline engine doubts, and run a turn that writes them on a yes."""
    facts = chat.runtime.workspace.facts
    if facts.get("finish") != PROPOSED or chat.planning.on:
        return
    facts.pop("finish")  # ask only once
    from packages.offline.model.offline_model import ACCEPT

    chat.front.alert("a proposed change waits for you")
    question = Question(
        title="Write the proposed change?",
        why="it may only fit the tests; if written, all tests are run, and /undo takes it back",
        options=(Option(name="yes", key="y", label="Yes, write it"), Option(name="no", key="n", label="No")),
        otherwise="no",
    )
    if (await chat.front.ask(question)).name == "yes":
        await chat.run_turn(ACCEPT, shown="apply the proposed change")

"""Question after a commit that was refused for its signature: whether to trust the program that makes it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from cli.tui.frontend import Option, Question
from sandbox.policy.trust import UNTRUSTED_SIGNER, TrustStore
from sandbox.sanitize import sanitize_for_approval

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation


async def offer_signing_trust(chat: Conversation) -> None:
    """Ask whether to trust what the repository lets git run, and commit after a yes."""
    facts = chat.runtime.workspace.facts
    if not facts.pop(UNTRUSTED_SIGNER, "") or chat.planning.on:
        return
    from tools.git.broker import Broker

    root = Path(chat.runtime.workspace.root)
    found = await asyncio.to_thread(lambda: Broker(root).program_definitions)
    rows = [sanitize_for_approval(f"{each.kind} {each.name}: {each.runs}") for each in found]
    chat.front.alert("a commit waits for your answer")
    question = Question(
        title="Trust what signs commits here?",
        what="\n".join(row.replace("\n", "\\n") for row in rows),
        why="commits here are to be signed, and the repository names the program; it runs outside the sandbox, with all"
        " else that is listed",
        options=(
            Option(name="yes", key="y", label="Yes, trust all of it and commit"),
            Option(name="no", key="n", label="No", about="nothing is committed"),
        ),
        otherwise="no",
    )
    if (await chat.front.ask(question)).name != "yes":
        return
    TrustStore(chat.home.config).grant(root, found)
    made = await chat.runtime.committer.commit_now()
    if made is not None:
        chat.show_message(made.text, "yellow" if made.failed else None)

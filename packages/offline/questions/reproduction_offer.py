"""Question after a turn that mended a reproduced bug: whether its script becomes a test of the project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.tui.frontend import Option, Question

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation


async def offer_kept_test(chat: Conversation) -> None:
    """Ask whether to keep the turn's reproduction as a test, and write it on a yes."""
    conclusion = chat.runtime.conclusion
    if conclusion.reproduction is None:
        return
    kept = conclusion.reproduction.kept
    has_passed = any(each.name == "reproduction" and each.outcome == "pass" for each in conclusion.verdicts)
    if kept is None or not has_passed or conclusion.settings.keep_reproduction or chat.planning.on:
        return
    path = conclusion.reproduction.choose_test_path(kept.script)
    chat.front.alert("a question waits for you")
    question = Question(
        title="Keep the reproduction as a test?",
        what=path,
        why="it failed before the fix and passes now; verify.keep_reproduction keeps it without a question",
        options=(Option(name="yes", key="y", label="Yes, keep it"), Option(name="no", key="n", label="No")),
        otherwise="no",
    )
    answer = await chat.front.ask(question)
    if conclusion.reproduction is not None:
        conclusion.reproduction.kept = None  # ask only once
    if answer.name == "yes":
        await chat.runtime.run_harness_action("write", {"path": path, "content": kept.script})

"""Questions after a turn that ended in a proposal: whether to write each of its doubtful changes, and which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agent.events import ObservationEvent
from cli.tui.frontend import Choice, Option, Question
from sandbox.sanitize import sanitize_text
from tools.session.finish import PROPOSED

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation
    from packages.offline.model.proposed_changes import Patch
    from tools.core.workspace import Workspace

MOST_OTHERS = 5
"""Other patches offered in place of a change: further ones are hardly ever the right one."""


async def offer_proposal(chat: Conversation) -> None:
    """Ask about each change that the offline engine doubts, and run a turn that writes those with a yes."""
    facts = chat.runtime.workspace.facts
    if facts.get("finish") != PROPOSED or chat.planning.on:
        return
    facts.pop("finish")  # ask only once
    from packages.offline.model.proposed_changes import (
        group_by_tests,
        list_proposed_patches,
        write_acceptance,
    )

    data = _find_search_data(chat)
    groups, patches = group_by_tests(data), list_proposed_patches(data)
    chat.front.alert("a proposed change waits for you")
    accepted = []
    for place, numbers in enumerate(groups, 1):
        which = f" · {place} of {len(groups)}" if len(groups) > 1 else ""
        offered = [patches[each - 1] for each in numbers[: MOST_OTHERS + 1]]
        chosen = await _ask_about_change(chat, offered, which)
        if chosen is not None:
            accepted.append(numbers[chosen])
    if accepted:
        count = f"{len(accepted)} proposed changes" if len(accepted) > 1 else "the proposed change"
        await chat.run_turn(write_acceptance(accepted), shown=f"apply {count}")


def _find_search_data(chat: Conversation) -> Mapping[str, Any]:
    """Return the data of the search whose changes are proposed: the newest of the session."""
    for event in reversed(chat.runtime.session.replayed):
        if isinstance(event, ObservationEvent) and event.tool == "repair":
            data = event.data.get("repair")
            return data if isinstance(data, Mapping) else {}
    return {}


async def _ask_about_change(chat: Conversation, offered: Sequence[Patch], which: str) -> int | None:
    """Return which of the patches for the same tests the person wants to be written, None for none of them."""
    shown = 0
    while True:
        answer = await chat.front.ask(_make_question(chat, offered[shown], len(offered) - 1, which))
        if answer.name == "other":
            rows = [_make_choice(patch, current=place == shown) for place, patch in enumerate(offered)]
            picked = await chat.front.pick(f"Which change?{which}", rows)
            shown = shown if picked is None else picked
        else:
            return shown if answer.name == "yes" else None


def _make_question(chat: Conversation, patch: Patch, others: int, which: str) -> Question:
    from packages.offline.model.proposed_changes import describe_tests

    about = f"{others} more pass{'es' if others == 1 else ''} the same tests"
    other = Option(name="other", key="o", label="Another change", about=about)
    facts = [*(str(fix["why"]) for fix in patch), describe_tests(patch), _describe_confidence(patch)]
    works = dict.fromkeys(str(fix["own_work"]) for fix in patch if fix.get("own_work"))
    doubt = f"it concerns your fresh work: {', '.join(works)}" if works else "it may only fit the tests"
    return Question(
        title=f"Write this change of {_join_places(patch)}?{which}",
        change=_draw_patch(chat.runtime.workspace, patch),
        why=sanitize_text("; ".join(filter(None, (*facts, doubt))))
        + "; if written, all tests are run, and /undo takes it back",
        options=(
            Option(name="yes", key="y", label="Yes, write it"),
            *([other] if others else []),
            Option(name="no", key="n", label="No"),
        ),
        otherwise="no",
    )


def _make_choice(patch: Patch, *, current: bool) -> Choice:
    why = "; ".join(str(fix["why"]) for fix in patch)
    lines = [sanitize_text(line) for fix in patch for line in _list_signed_lines(fix)]
    return Choice(
        label=f"{_join_places(patch)}  {sanitize_text(why)}",
        about=_describe_confidence(patch),
        preview=lambda: "\n".join(lines),
        current=current,
    )


def _join_places(patch: Patch) -> str:
    return sanitize_text(" and ".join(f"{fix['path']}:{fix['line']}" for fix in patch))


def _describe_confidence(patch: Patch) -> str:
    """Return the confidence in a patch: that in its least certain edit."""
    return f"confidence {min(float(fix.get('confidence', 0.0)) for fix in patch):.2f}"


def _draw_patch(at: Workspace, patch: Patch) -> str:
    """Return a patch as a unified diff of the files as they are; as lines with signs where it does not fit them."""
    from tools.core.text import format_unified_diff

    before: dict[str, str] = {}
    after: dict[str, str] = {}
    for fix in patch:
        path, old = str(fix["path"]), str(fix["old"])
        if path not in before:
            try:
                before[path] = after[path] = at.files.decode(path, at.files.read(path)).text
            except (OSError, ValueError):  # gone since, or no text
                before[path] = after[path] = ""
        if after[path].count(old) != 1:
            return "\n".join(line for each in patch for line in _list_signed_lines(each))
        after[path] = after[path].replace(old, str(fix["new"]))
    return "".join(format_unified_diff(path, text, after[path]) for path, text in before.items())


def _list_signed_lines(fix: Mapping[str, Any]) -> list[str]:
    return [
        f"{sign}{line}" for sign, key in (("-", "old"), ("+", "new")) for line in str(fix[key]).split("\n")
    ]

"""The reader of prompts: everything that acts on what a prompt wants or forbids asks it.

An intent that is not clear stays "unclear": it costs one more prompt, while a question that is taken for an order
changes the user's code.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from agent.prompt.prompt_intent import Kind, PromptIntent, merge_intents


@lru_cache(maxsize=64)
def read_intent(prompt: str) -> PromptIntent:
    """Return the intent of one prompt."""
    from agent.prompt.commit_wishes import asks_for_commit, forbids_commit
    from agent.prompt.languages import choose_language
    from agent.prompt.orders import classify_foreign_text
    from agent.prompt.prohibitions import read_prohibitions
    from agent.prompt.prompt_text import remove_citations, remove_quoted_text, simplify_text
    from agent.prompt.restoration_wishes import asks_for_restoration
    from agent.prompt.scope import list_changed_paths
    from agent.prompt.test_runs import asks_for_test_run
    from agent.prompt.test_wishes import asks_for_changed_tests

    text = simplify_text(remove_quoted_text(prompt)).strip()
    bans = read_prohibitions(text)
    said = remove_citations(text)
    language = choose_language(said)
    if language is None:
        from agent.prompt.english_orders import classify_english_text

        found = classify_english_text(said, text, forbids_edits=bans.everything)
    else:
        found = classify_foreign_text(said, language)
    no_commit = forbids_commit(said)
    wants_commit = not no_commit and asks_for_commit(said)
    runs_tests = asks_for_test_run(said)
    changes_tests = asks_for_changed_tests(text)
    kind: Kind = "answer" if bans.everything and found.kind not in ("change", "task") else found.kind
    if wants_commit and kind == "unclear":
        kind = "task"
    elif runs_tests and kind in ("unclear", "task") and not wants_commit:
        kind = "answer"
    return PromptIntent(
        kind=kind,
        orders_repair=found.orders_repair,
        wants_passing_tests=found.wants_passing_tests and not bans.everything,
        wants_changed_tests=changes_tests,
        wants_restoration=asks_for_restoration(text),
        wants_test_run=runs_tests,
        wants_commit=wants_commit,
        forbids_commit=no_commit,
        forbids_edits=bans.everything and kind != "change",
        spares_tests=bans.tests and not changes_tests,
        forbidden_paths=bans.paths,
        only_paths=bans.only,
        changed_paths=tuple(each for each in list_changed_paths(text) if each not in bans.paths),
    )


def read_intents(prompts: Sequence[str]) -> PromptIntent:
    """Return the intent of a turn from its prompt and what the person typed while it ran."""
    return merge_intents([read_intent(each) for each in prompts])

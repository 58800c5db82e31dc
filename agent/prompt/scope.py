"""Files that a prompt wants changed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent.prompt.languages import list_languages
from agent.prompt.prompt_text import find_paths, is_negated, remove_paths, split_clauses
from sandbox.lazy_pattern import compile_lazily

_CHANGE = compile_lazily(
    r"\b(?:change|edit|update|modify|fix|rewrite|refactor|extend|adapt|adjust|implement|add|create|write|rename|remove)\b",
    re.IGNORECASE,
)


def list_changed_paths(text: str) -> Iterator[str]:
    """Yield the files that a text orders to change, each once: "change a.py and b.py", "ändere a.py"."""
    yield from dict.fromkeys(path for path in _list_named(text) if not path.endswith("/") and "*" not in path)


def _list_named(text: str) -> Iterator[str]:
    languages = list_languages(text)
    goes_on = False
    for clause in split_clauses(text):
        named = find_paths(clause)
        order = _CHANGE.search(clause)
        if goes_on and named and not remove_paths(clause).strip(" .`'\""):
            yield from named
        elif order is not None and not is_negated(clause, order.start()):
            named = find_paths(clause[order.end() :])
            yield from named
        elif order is None and any(
            not each.search("ban", clause)
            and (each.search("change", clause) or each.search("repair", clause))
            for each in languages
        ):
            yield from named
        else:
            named = []
        goes_on = bool(named)

"""Whether a prompt wants something taken back, or says yes to that."""

from __future__ import annotations

import re

from agent.prompt.prompt_text import says, split_clauses
from agent.prompt.proposal_answers import accepts_proposal
from sandbox.lazy_pattern import compile_lazily

_TAKES_BACK = compile_lazily(
    r"\b(?:undo|undone|revert\w*|restor\w*|discard\w*|reset|remov\w*|delet\w*|drop\w*"
    r"|(?:roll|take|put|back|go)(?:ing)? (?:\w+ ){0,4}?(?:back|out)|rollback|as (?:it|they|that) (?:was|were)"
    r"|clean up|zur(?:ü|ue)ck\w*|verwirf|annul\w*|rétabli\w*|desha[zc]\w*|deshaga\w*|descart\w*)\b"
    r"|撤销|还原|恢复|元に戻(?!さな|さず|すな)",
    re.IGNORECASE,
)


def asks_for_restoration(text: str) -> bool:
    """Return whether a text, without its quotations, wants something taken back; in doubt it is taken at its word."""
    return accepts_proposal(text) or any(says(clause, _TAKES_BACK) for clause in split_clauses(text))

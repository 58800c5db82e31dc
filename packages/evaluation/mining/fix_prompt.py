"""A prompt from a fix's message: the problem, without how it was mended."""

from __future__ import annotations

import re

from packages.evaluation.mining.fix_commits import FixCommit
from sandbox.lazy_pattern import compile_lazily

_TRAILER = compile_lazily(
    r"^(signed-off-by|co-authored-by|reviewed-by|acked-by|tested-by|reported-by|cc|change-id|cherry.picked).*$",
    re.IGNORECASE | re.MULTILINE,
)
_REFERENCE = compile_lazily(
    r"\s*[(\[]?\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|refs?|see|pr|issue)?:?\s*(?:#\d+|gh-\d+|https?://\S+)[)\]]?",
    re.IGNORECASE,
)
_HOW = compile_lazily(
    r"\b(by \w+ing|instead|using|use|replac\w+|renam\w+|mov\w+|add(?:s|ed|ing)?|remov\w+|chang\w+)\b",
    re.IGNORECASE,
)
_CODE = compile_lazily(r"```.*?```|^(?: {4}|\t).*$|^[-+@].*$", re.DOTALL | re.MULTILINE)

LONGEST = 1200
"""Characters of a message's body that are kept."""

TEMPLATE = """\
There is a fault in this project. The commit that mended it says:

{problem}

Find the fault and mend it. The project's tests have to keep passing; tests that are not here will check the behaviour
that is asked for.{tests}
"""


def write_prompt(fix: FixCommit, secrets: frozenset[str], shown_tests: tuple[str, ...] = ()) -> str:
    """Return a prompt that gives neither the change nor the files away.

    secrets: lines of the fix, stripped; a sentence of the message that holds one is left out
    shown_tests: tests that are in the worktree and fail
    """
    subject = _clean(fix.subject)
    kept = [each for each in _split_sentences(fix.body) if _is_problem(each, fix, secrets)]
    body = " ".join(kept)[:LONGEST].strip()
    problem = "\n\n".join(each for each in (subject, body) if each) or "(no description)"
    quoted = "\n".join(f"> {line}".rstrip() for line in problem.splitlines())
    tests = f"\n\nThese tests fail for it: {', '.join(shown_tests)}." if shown_tests else ""
    return TEMPLATE.format(problem=quoted, tests=tests)


def _clean(text: str) -> str:
    """Remove references to issues and pull requests, where the fix can be read."""
    return re.sub(r"\s+", " ", _REFERENCE.sub("", text)).strip(" -:,")


def _split_sentences(body: str) -> list[str]:
    text = _CODE.sub("", _TRAILER.sub("", body))
    parts = re.split(r"(?<=[.!?])\s+|\n\s*\n|\n\s*[*-]\s+", text)
    return [cleaned for cleaned in map(_clean, parts) if cleaned]


def _is_problem(sentence: str, fix: FixCommit, secrets: frozenset[str]) -> bool:
    """Return whether a sentence tells the problem rather than the change."""
    if _HOW.search(sentence) or any(path in sentence for path in fix.sources):
        return False
    return not any(len(each) > 8 and each in sentence for each in secrets)

"""The command that runs the tests, where a prompt tells it: "The tests are run with `sh checks/all.sh`."."""

from __future__ import annotations

import re

from agent.prompt.prompt_text import remove_quoted_text
from sandbox.lazy_pattern import compile_lazily

_WITH = r"(?:with|by|using|via|through)(?: the command)?:?"

_TOLD = compile_lazily(
    rf"(?:\btests? (?:suite )?(?:(?:is|are) (?:run|started|executed)|runs?|(?:can|must|should) be (?:run|started)"
    rf"|(?:has|have) to be (?:run|started)) {_WITH} `(?P<passive>[^`\n]+)`"
    rf"|\b(?:run|start|execute) (?:\w+ )?(?:tests?|test suite) {_WITH} `(?P<order>[^`\n]+)`"
    rf"|\btest command(?: here)?(?: is|:) `(?P<named>[^`\n]+)`"
    rf"|\b(?:use|run) `(?P<used>[^`\n]+)` (?:to run (?:\w+ )?tests?|to test|for (?:the |our )?tests?)\b)",
    re.IGNORECASE,
)

MOST_BEFORE = 200
"""Characters of a sentence before the words, in which it may deny them."""

_NOT = compile_lazily(r"\b(?:not|never|no longer|without|instead of|used to|cannot)\b|n't\b", re.IGNORECASE)


def find_told_test_command(prompt: str) -> str:
    """Return the last command in backticks of which a prompt says that it runs the tests, "" for none.

    What the prompt quotes of others tells nothing, nor does a sentence that denies it.
    """
    if "`" not in prompt or "test" not in prompt.lower():
        return ""
    told, text = "", remove_quoted_text(prompt)
    for found in _TOLD.finditer(text):
        before = re.split(r"[.!?\n`]", text[max(0, found.start() - MOST_BEFORE) : found.start()])[-1]
        if not _NOT.search(before + found[0].partition("`")[0]):
            told = next(each for each in found.group("passive", "order", "named", "used") if each).strip()
    return told

"""The one job that a prompt asks for, of those that a small model can do; None for anything larger."""

from __future__ import annotations

import re
from typing import Literal

from agent.prompt.prompt_intent import PromptIntent
from agent.prompt.prompt_reader import read_intent
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

Kind = Literal["question", "docstring", "test", "message", "rename", "parameter", "change"]

LONGEST = 300
"""Characters of a prompt for one job: a longer one describes more than a small model can be led through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job.

    text: the prompt; name: of the function or class that it is about; path: the file it names for it, "" for none
    new: the name that something gets, "" if the model is to find one; value: of a new parameter, as source
    """

    kind: Kind
    text: str
    name: str = ""
    path: str = ""
    new: str = ""
    value: str = ""


_NAME = r"`?(?P<name>[A-Za-z_][\w.]*)`?(?:\(\))?"
_KIND = r"(?:the )?(?:python )?(?:function |method |class )?"
_TARGET = rf"{_KIND}{_NAME}(?: (?:function|method|class))?(?: in (?:the file )?`?(?P<path>[\w./-]+\.\w+)`?)?"
_NEW = r"`?(?P<new>[A-Za-z_]\w*)`?(?:\(\))?"
_BETTER = r"(?:something )?(?:a )?(?:better|clearer|more telling|more descriptive)(?: name)?"
_VALUE = (
    r"(?: ?= ?`?(?P<given>[^`\s]+?)`?"
    r"|`? \(?(?:with (?:the |a )?default(?: value)?(?: of)?|defaulting to|default) `?(?P<told>[^`\s]+?)`?\)?)"
)

_FORMS: dict[Kind, tuple[re.Pattern[str], ...]] = {
    "rename": (
        compile_lazily(rf"rename {_TARGET} (?:to|into|as) (?!something\b|a better\b){_NEW}", re.IGNORECASE),
        compile_lazily(rf"rename {_TARGET}(?: to {_BETTER})?", re.IGNORECASE),
        compile_lazily(rf"give {_TARGET} {_BETTER}", re.IGNORECASE),
    ),
    "parameter": (
        compile_lazily(
            r"add (?:a |an |the )?(?:new |optional |keyword )*(?:parameter|argument|option|flag) "
            rf"`?(?P<new>[A-Za-z_]\w*)`?{_VALUE}`? to {_TARGET}",
            re.IGNORECASE,
        ),
    ),
    "docstring": (
        compile_lazily(
            r"(?:write|add|create|generate) (?:a |the )?(?:short |missing |good )?docstring (?:to|for|of|in) "
            + _TARGET,
            re.IGNORECASE,
        ),
        compile_lazily(rf"document (?:the )?(?:function |method |class ){_NAME}", re.IGNORECASE),
    ),
    "test": (
        compile_lazily(
            r"(?:write|add|create|generate) (?:a |one |some )?(?:new )?(?:unit )?(?:pytest )?tests? "
            rf"(?:for|of) {_TARGET}",
            re.IGNORECASE,
        ),
    ),
    "message": (
        compile_lazily(
            r"(?:write|suggest|draft|propose|give me) (?:a |the )?(?:good )?(?:git )?commit message"
            r"(?: for (?:my|the|these|this|what i have)[\w ]*)?",
            re.IGNORECASE,
        ),
    ),
}
"""Whole wordings of the jobs that name all that they need."""

_CHANGE = compile_lazily(r"(?:change|make|let|modify|update|extend|have|in|use|add|remove)\b", re.IGNORECASE)
_SEVERAL = compile_lazily(r"[.!?]\s+[A-Z`]|\n\s*\S|;|\band (?:then|also)\b|^\s*[-*\d]", re.IGNORECASE)
_ORDER = compile_lazily(
    r"\b(?:write|add|create|generate|rename|draft) (?:a |an |the )?"
    r"(?:\w+ )?(?:docstring|tests?|parameter|argument|message)\b",
    re.IGNORECASE,
)
"""An order that a ban on edits contradicts: no question."""

_ASKS = compile_lazily(r"(?:which|what|where|who|why|when|how)\b", re.IGNORECASE)
"""The beginning of a question that tells of code which drops or deletes something, and orders nothing."""

_WORK = compile_lazily(r"\b(?:tests?|commit|docs?|readme|changelog)\b", re.IGNORECASE)
"""What a change of one function does not reach."""


def read_job(prompt: str) -> Job | None:
    """Return the job of a prompt; None if it is no job, or several."""
    text = re.sub(r"^(?:please|can you|could you)\s+", "", prompt.strip(), flags=re.IGNORECASE).rstrip(" .!?")
    intent = read_intent(prompt)
    if not text or len(text) > LONGEST or _SEVERAL.search(text) or _is_larger(intent, text):
        return None
    is_question = intent.kind == "answer" and not _ORDER.search(text)
    if intent.forbids_edits:
        return Job(kind="question", text=prompt) if is_question else None
    for each, forms in _FORMS.items():
        for form in forms:
            if match := form.fullmatch(text):
                return _build_job(each, prompt, match)
    if intent.kind == "change" and _CHANGE.match(text) and not _WORK.search(text):
        return Job(kind="change", text=prompt)
    return Job(kind="question", text=prompt) if is_question else None


def _is_larger(intent: PromptIntent, text: str) -> bool:
    """Return whether a prompt wants what has its own way: a repair, a run of the tests, a commit, something undone."""
    return (
        intent.kind == "repair"
        or intent.orders_repair
        or intent.wants_passing_tests
        or (intent.wants_restoration and not (intent.kind == "answer" and _ASKS.match(text)))
        or intent.wants_test_run
        or intent.wants_commit
        or bool(intent.forbidden_paths or intent.only_paths)
    )


def _build_job(kind: Kind, prompt: str, match: re.Match[str]) -> Job:
    found = match.groupdict()
    return Job(
        kind=kind,
        text=prompt,
        name=found.get("name") or "",
        path=found.get("path") or "",
        new=found.get("new") or "",
        value=found.get("given") or found.get("told") or "",
    )

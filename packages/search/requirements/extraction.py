"""Requirements of a text that code can check: one for each thing that a sentence asks for, by its words alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from agent.prompt.prompt_text import remove_quoted_text
from agent.verify.requirement import Kind, Requirement, number_requirements
from packages.search.requirements.instructions.behavior_limits import find_behavior_limit
from packages.search.requirements.instructions.examples import find_assertions, find_examples
from packages.search.requirements.patterns import find_checks
from sandbox.lazy_pattern import compile_lazily

MOST = 60
"""Requirements of one text; more are a list to be kept in a file."""

LARGEST = 30_000
"""Characters of a text that are read: the rest of a longer one is material."""

LONGEST = 1_000
"""Characters of a sentence that is read: a longer one is data."""

_SUBJECT = compile_lazily(r"`([A-Za-z_]\w*)(?:\(\))?`|\b([A-Za-z_]\w*)\(\)")
_IT = compile_lazily(r"\b[Ii]t(?=\s+(?:must|should|has to|needs to|shall)\s+(?:return|raise|throw)\b)")
"""The one function that a prompt names, and the pronoun for it before a result."""

_DATA = compile_lazily(r"\S{160}")
"""A word as no path or name is: an encoded blob, a minified line."""

_SENTENCE = compile_lazily(r"(?:[^.!?;\n`]|`[^`\n]*`|[.!?;](?!\s|$)|`)+[.!?;]?")
_BULLET = compile_lazily(r"^\s*(?:[-*+•]|\d+[.)])\s+(?:\[[ xX]\]\s+)?")


_STEPS = compile_lazily(
    r"^[^\w\n]*(?:steps?\s+to\s+reproduce|(?:how\s+)?to\s+reproduce|reproduction\s+steps?)\b[^\n]*\n\s*(?:[^\n]+(?:\n|$))*",
    re.IGNORECASE | re.MULTILINE,
)
"""A paragraph that says how a fault is seen: what is done there is not asked for."""


def extract_requirements(text: str) -> list[Requirement]:
    """Return the requirements that code can check; a sentence with several is a group above them."""
    found: list[Requirement] = []
    own = _STEPS.sub("", remove_quoted_text(text[:LARGEST]))
    subjects: set[str] = set()
    for sentence in split_sentences(own):
        subjects.update(name for pair in _SUBJECT.findall(sentence) for name in pair if name)
        said = _IT.sub(next(iter(subjects)), sentence) if len(subjects) == 1 else sentence
        made = build_requirements(sentence, find_checks(said), source="prompt", number=len(found))
        known = {(each.kind, each.check) for each in found}
        fresh = [each for each in made if each.kind == "group" or (each.kind, each.check) not in known]
        if len(fresh) == 2 and fresh[0].kind == "group":
            fresh = [replace(fresh[1], parent="")]
        if fresh and fresh[-1].kind != "group":
            found += fresh
        if len(found) >= MOST:
            break
    known = {(each.kind, each.check) for each in found}
    for check in dict.fromkeys((*find_examples(text[:LARGEST]), *find_assertions(own))):
        if ("result", check) not in known:
            found.append(Requirement(id="", text=check, kind="result", check=check, source="prompt"))
    if (limit := find_behavior_limit(own)) is not None:
        text_of_it = f"answers as before{f' but {limit}' if limit else ''}"
        found.append(Requirement(id="", text=text_of_it, kind="behavior", check=limit, source="prompt"))
    return number_requirements(found[:MOST])


_OF_TEXT = compile_lazily(
    r"\b(?:comment\w*|docstrings?|documentation|docs?|typos?|spelling|grammar|wording|format\w*|whitespace|indent\w*|lint\w*"
    r"|style|license|headers?|todos?|links?|urls?|layout|examples?|readme|changelog"
    r"|document\w*|expla\w+|describ\w*|description|clarif\w+|mention\w*|notes?|re-?wrap\w*|newlines?|eof|tabs|spaces?|trailing|blank"
    r"|refs?|references?|quot\w+|capitali\w+|markup|markdown|rst|rest|myst|prose|words|text|reformat\w*|clean\w*"
    r"|tidy|pep ?8|black|ruff|flake8|discuss\w*"
    r"|pylint|editor\w*|section|paragraph|sentence|javadoc|jsdoc|godoc|rustdoc|sphinx|copyright|copyrights?"
    r"|news|fragments?|(?:ai|security|privacy|contribut\w+|support)\s+polic(?:y|ies)|code of conduct)\b",
    re.IGNORECASE,
)


_ORDERS = compile_lazily(
    r"^(?:please\s+|also\s+|then\s+)*(?:fix|correct|change|update|add|improve|rewrite|clarif\w+|document|mention|explain|remove)\b",
    re.IGNORECASE,
)

_PLAIN_WORD = compile_lazily(r"(?<![\w./:@<])[A-Za-z]{2,}(?![\w/:@>]|\.\w)")

_TRAILER = compile_lazily(r"^[A-Z][\w-]+: .+ <\S+>\s*$", re.MULTILINE)
_FAULT = compile_lazily(
    r"\b(?:crash\w*|fails|failed|raises|throws|hangs|wrong(?:ly)?|bug|broken|incorrect(?:ly)?|regression|instead of"
    r"|traceback|segfaults?|does(?:n't| not) work|\w+(?:Error|Exception))\b"
)

FEWEST_WORDS = 4
"""Words of an order that says what is to become of the code: "update src/models.py" says nothing of it."""

SHORT = 300
"""Characters of a prompt that is an order as a whole."""


def extract_late_requirements(prompt: str) -> list[Requirement]:
    """Return what is checked of every prompt, with the demand that a repair of code is more than another comment.

    Tests are left to the suite's verdict, and a file that was named and not changed to the notices, which stop nothing.
    """
    from agent.prompt.prompt_reader import read_intent

    found = [each for each in extract_requirements(prompt) if each.kind not in ("tests", "file-changed")]
    parents = {each.parent for each in found}
    found = [each for each in found if each.kind != "group" or each.id in parents]
    kind = read_intent(prompt).kind
    said = _TRAILER.sub("", prompt)
    says_what = (
        kind == "repair"
        or (kind == "change" and len(_PLAIN_WORD.findall(said)) >= FEWEST_WORDS)
        or (kind == "unclear" and bool(_FAULT.search(said)))
    )
    if says_what and not _is_about_text(prompt):
        text = describe_check("code-changed", "")
        found.append(Requirement(id=f"r{len(found) + 1}", text=text, kind="code-changed", source="prompt"))
    return number_requirements(found)


def _is_about_text(prompt: str) -> bool:
    """Return whether words of a text, or its layout, are what is to be changed.

    A long report mentions documents and versions in passing: of one, the title counts, and what orders a repair.
    """
    if len(prompt) <= SHORT:
        return bool(_OF_TEXT.search(prompt))
    title, _, rest = prompt.strip().partition("\n")
    orders = (each for each in split_sentences(rest[:LARGEST]) if _ORDERS.search(each))
    return any(_OF_TEXT.search(each) for each in (title, *orders))


def read_requirements(text: str) -> list[Requirement]:
    """Return what a user requires: the checks that code finds in a text, else one for a model."""
    found = extract_requirements(text) or [Requirement(id="r1", text=text)]
    return [replace(each, source="user") for each in found]


def build_requirements(
    sentence: str, checks: Sequence[tuple[Kind, str]], *, source: str, number: int = 0
) -> list[Requirement]:
    """Return one requirement for a sentence with one check, a group and its parts for one with several.

    number: of requirements before these, for ids that are unique among them
    """
    if len(checks) == 1:
        [(kind, check)] = checks
        return [Requirement(id=f"r{number + 1}", text=sentence, kind=kind, check=check, source=source)]
    if not checks:
        return []
    top = Requirement(id=f"r{number + 1}", text=sentence, kind="group", source=source)
    return [
        top,
        *(
            Requirement(
                id=f"r{number + 1 + place}",
                text=describe_check(kind, check),
                kind=kind,
                check=check,
                parent=top.id,
                source=source,
            )
            for place, (kind, check) in enumerate(checks, 1)
        ),
    ]


def split_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text without bullets; questions and very long ones are left out."""
    for line in text.splitlines():
        for match in _SENTENCE.finditer(_BULLET.sub("", line)):
            sentence = match[0].strip()
            if (
                sentence
                and not sentence.endswith("?")
                and len(sentence) <= LONGEST
                and not _DATA.search(sentence)
            ):
                yield sentence.rstrip(".!; ")


def describe_check(kind: Kind, check: str) -> str:
    """Return a check in words."""
    return _WORDS[kind].format(check=check or "all tests").strip()


_WORDS: dict[Kind, str] = {
    "group": "all of these",
    "file-exists": "{check} exists",
    "file-gone": "{check} does not exist",
    "file-changed": "{check} is changed",
    "file-unchanged": "{check} is not changed",
    "only-files": "only {check} is changed",
    "name-exists": "{check} is defined",
    "name-gone": "{check} is not defined any more",
    "name-unchanged": "{check} is not changed",
    "signature": "{check} keeps its signature",
    "command": "`{check}` succeeds",
    "tests": "{check} pass",
    "max-lines": "at most {check} lines are changed",
    "max-files": "at most {check} files are changed",
    "no-dependency": "no dependency is added",
    "result": "{check}",
    "output": "{check}",
    "renamed": "renamed: {check}",
    "documented": "{check} has a docstring",
    "typed": "{check} has types",
    "deprecated": "{check} is deprecated",
    "tested": "a test of {check} is added",
    "parameter": "{check} is a parameter",
    "mentioned": "{check} is in the added lines",
    "code-changed": "more than comments is changed",
    "behavior": "answers as before",
    "judged": "{check}",
}

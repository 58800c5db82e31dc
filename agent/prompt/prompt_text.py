"""Text of a prompt that counts as the person's own words, and its clauses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sandbox.lazy_pattern import compile_lazily
from tools.core.untrusted_output import remove_foreign_text

_MATERIAL = compile_lazily(
    r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|^  \| [^\n]*|^>[^\n]*", re.DOTALL | re.MULTILINE
)
"""Code blocks and quoted output: material, not part of the request."""

_INDENTED = compile_lazily(r"(?<=\n)[ \t]*\n(?:(?: {4}|\t)[^\n]*(?:\n|\Z))+")
"""A block of code after an empty line, where the text before it is not indented, nor an item of a list."""
_LIST_ITEM = compile_lazily(r"\s*(?:[-*+•]|\d+[.)])\s")

_CALL = compile_lazily(r"(?<=\w)\([^()\n]*\)(?!\s*:)")
_GIT_COMMIT = compile_lazily(r"`(git commit[^`\n]*)`")
_AFFIRMATION = compile_lazily(
    r"\b(?:(?:do not|don't|dont|never)\s+(?:forget|fail|hesitate|omit|neglect)\s+to"
    r"|be sure to|make sure (?:that )?(?:you|to)(?= commit)|remember to"
    r"|(?:und )?vergiss (?:bitte )?nicht(?:,| es)?|(?:und )?denk daran,?"
    r"|n'oublie[sz]? (?:pas|surtout pas) (?:de |d')|no (?:te )?olvides (?:de )?)\s*"
    r"|(?:千万)?(?:别|不要|请勿|勿)忘(?:了|记)?",
    re.IGNORECASE,
)
_UNFORGOTTEN = compile_lazily(r"(?:する(?:の)?)?(?:を|も|のも)忘れ(?:ないで|ずに|ないように|るな)")

_CITED = compile_lazily(
    r"`(?!git )[^`\s\n]+\s[^`\n]*`|[\"“”„«»「『][^\"“”„«»「」『』\n]*[\"“”«»」』]|(?<!\w)'[^'\n]+'(?!\w)"
)

_APOSTROPHES = {0x2018: "'", 0x2019: "'"}

_CLAUSE_END = compile_lazily(
    r"[.!?;:](?=\s|$)|[\n,—–。！？；，、：]|\((?!\))|(?<!\()\)|\s-+\s"
    r"|\b(?:and|then|but|also|und|aber|dann|et|mais|puis|pero|luego|(?<!\S)y(?!\S))\b",
    re.IGNORECASE,
)

_NEGATION = compile_lazily(
    r"(?:(?:\b(?:not|never|without|no|nothing|nicht|nie|kein\w*|ohne|ne|sans|sin|nunca)|n't|不要|不得|别|勿|不)"
    r"(?:\s+\w+)?[\s-]*|\bn')\Z",
    re.IGNORECASE,
)
_LONGEST_NEGATION = 40
"""Characters before a word in which its negation is looked for: one word may be between them."""

LONG = 80
"""Words from which on a prompt is likely to hold a report, whose middle is no part of the request."""

PATH = r"(?:[\w.@*-]+/)*[\w*-][\w.*-]*\.[A-Za-z]\w{0,5}(?![\w/])|(?:[\w.@*-]+/)+[\w.*-]*|\*\.\w+"
"""A file with an extension, a path with a slash, or a glob."""

KNOWN_FILES = (
    r"(?:README|LICENSE|CHANGELOG|Makefile|Dockerfile|Jenkinsfile|Procfile|Gemfile|Rakefile|CODEOWNERS)"
)
"""Names of files without an extension, as they are written."""

_NAMED = compile_lazily(
    rf"(?<![\w/.])(?P<path>{PATH}|\b(?-i:{KNOWN_FILES})\b)"
    r"|(?<![\w-])[`'\"]?(?P<folder>[\w-]{2,})[`'\"]?[ -](?:folder|directory|dir|package)\b"
    r"|\b(?:folder|directory|Ordner|Verzeichnis|dossier|répertoire|carpeta|directorio) [`'\"]?(?P<after>[\w-]{2,})"
    r"|(?P<dense>[A-Za-z_][\w-]*)[`」]? ?(?:文件夹|目录|フォルダ|ディレクトリ)",
    re.IGNORECASE | re.ASCII,
)
_NO_FOLDERS = frozenset(
    [
        "the",
        "this",
        "that",
        "a",
        "an",
        "any",
        "same",
        "whole",
        "working",
        "current",
        "project",
        "test",
        "source",
        "root",
        "my",
        "our",
        "its",
        "each",
        "every",
        "other",
    ]
)


def remove_quoted_text(prompt: str) -> str:
    """Return a prompt without texts of others, code blocks and quoted output, which are no part of the request."""
    own = _remove_indented_code(_MATERIAL.sub("\n", remove_foreign_text(prompt)))
    return own.translate(_APOSTROPHES)


def simplify_text(text: str) -> str:
    """Return a text whose calls have no arguments, and in which "don't forget to" do something orders it."""
    text = _GIT_COMMIT.sub(r"\1", _CALL.sub("()", text))
    return _UNFORGOTTEN.sub("して", _AFFIRMATION.sub(", ", text))


def _remove_indented_code(text: str) -> str:
    if text[:1].isspace() or "\n" not in text:
        return text
    parts, place = [], 0
    for match in _INDENTED.finditer(text):
        before = text[: match.start()].rstrip().rpartition("\n\n")[2]
        if not _LIST_ITEM.match(before) and not _LIST_ITEM.match(match.group().strip()):
            parts.append(text[place : match.start()])
            place = match.end()
    return "\n".join([*parts, text[place:]])


def remove_citations(text: str) -> str:
    """Return a text without what it cites in quotation marks."""
    return _CITED.sub(" ", text).strip()


def select_frame(text: str) -> str:
    """Return the first and the last paragraph of a long text: what is between them describes."""
    if len(text.split()) <= LONG:
        return text
    first, *_, last = paragraphs if len(paragraphs := text.split("\n\n")) > 1 else (text, "")
    return f"{first}\n{last}"


def split_clauses(text: str) -> Iterator[str]:
    """Yield the parts of a text between punctuation and conjunctions."""
    for clause in _CLAUSE_END.split(text):
        if stripped := clause.strip(" \t*#>\"'[]"):
            yield stripped


def is_negated(text: str, place: int) -> bool:
    """Return whether the word at a place of a text is negated right before it, as in "without ever undoing"."""
    return bool(_NEGATION.search(text[max(0, place - _LONGEST_NEGATION) : place]))


def says(text: str, pattern: re.Pattern[str]) -> bool:
    """Return whether a text says what a pattern describes, anywhere, and not in the negative."""
    return any(not is_negated(text, match.start()) for match in pattern.finditer(text))


def find_paths(text: str) -> list[str]:
    """Return the files, folders (with a slash at the end) and globs that a text names, each once."""
    found: dict[str, None] = {}
    for match in _NAMED.finditer(text):
        if match["path"]:
            found[match["path"].rstrip(".").removeprefix("./")] = None
        else:
            name = match["folder"] or match["after"] or match["dense"]
            if name.lower() not in _NO_FOLDERS:
                found[f"{name}/"] = None
    return list(found)


def remove_paths(text: str) -> str:
    """Return a text without the paths that it names."""
    return _NAMED.sub(" ", text)

"""Words of which the patterns of requirements are made: files, names, lists of them, numbers."""

from __future__ import annotations

import re

from sandbox.lazy_pattern import compile_lazily

ARROW = " -> "
"""Between an old name and a new one."""

ENDINGS = (
    "pyi?|jsx?|tsx?|mjs|cjs|go|rs|java|kt|rb|php|c|h|cc|cpp|hpp|cs|swift|scala|lua|sh|sql|md|rst|txt|toml|ini|cfg"
    "|ya?ml|json|xml|html|css|lock|csv|tmpl|proto|vue|ipynb|env|mod|gradle"
)
PATH = (
    r"(?<![\w.@/-])(?!(?:node|next|nuxt|vue|react|angular|three|d3|express|ember|backbone|socket|chart|alpine|discord"
    r"|asp|deno|bun|moment|p5|require|handlebars|knockout|meteor|solid|svelte|electron)\.(?:js|net|io)\b)"  # products
    # From the beginning of a word: a long one would otherwise be tried from each of its letters
    rf"(?:(?:[\w.@-]+/)*[\w.@-]*\w\.(?:{ENDINGS})\b(?!\.?[\w/])|(?:[\w.@-]+/)*(?:Makefile|Dockerfile)(?:\.\w+)?\b"
    r"|(?:[\w.@-]+/)+(?![\w`]))"
)
"""A file by its ending, or a folder by the slash at its end."""

_TESTS = r"(?:the\s+)?(?:tests\b(?![/.])|test\b(?=\s*(?:[,;!?]|\.(?:\s|$)|$|suite\b|files?\b|and\b|or\b)))"
QUOTED = r"`[^`\n]+`"
ITEM = rf"(?:{QUOTED}|{PATH}|{_TESTS})"
_NEXT = r"(?:\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or|nor)\s+)"
LIST = rf"{ITEM}(?:{_NEXT}(?:the\s+)?{ITEM}){{0,11}}"
ARTICLES = (
    r"(?:(?:the|a|an|any|all|of|our|my|new|existing|files?|modules?|folders?|directory|scripts?|page|document|in"
    r"|under|below|inside|within)"
    r"\s+){0,4}"
)
"""Words between a verb and the file that it is about."""

BARE_NAME = (
    r"(?<![\w-])(?-i:[A-Za-z_][\w.]*\([^()\n]{0,60}\)|[A-Za-z]+_\w+|_\w+|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*"
    r"|--[a-z][\w-]+)"
)
"""A name that is no word of a sentence: called, with an underscore, an inner capital, or an option.

Its capitals count, in patterns that ignore case as well.
"""

NAME = rf"(?:{QUOTED}|{BARE_NAME})"
NAMES = rf"{NAME}(?:{_NEXT}{NAME}){{0,11}}"
DEFINED = (
    r"(?:functions?|methods?|class(?:es)?|constants?|exceptions?|structs?|interfaces?|types?|enums?|fixtures?"
    r"|options?|flags?|helpers?)"
)
"""What a definition may be called; parameters, fields and keys are none that can be looked up."""

MUST = r"(?:must|should|shall|has to|have to|needs? to)"
NOT = r"(?:do not|don't|dont|never|must not|mustn't|should not|shouldn't|may not|without|avoid)"
CHANGE = r"(?:chang\w*|touch\w*|edit\w*|modify\w*|alter\w*)"
UNTOUCHED = r"(?:unchanged|untouched|unmodified|alone|as (?:it is|they are|is))"

_NUMBERS = {
    name: number
    for number, name in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
        ]
    )
}
NUMBER = rf"(?:\d{{1,6}}|{'|'.join(_NUMBERS)}|a single)"

_ITEM = compile_lazily(ITEM)
_NAME = compile_lazily(NAME)
_PATH = compile_lazily(PATH)
_IDENTIFIER = compile_lazily(r"[A-Za-z_]\w*(?:(?:\.|::|#)[A-Za-z_]\w*)*|--?[A-Za-z][\w-]*")


def split_items(text: str) -> list[str]:
    """Return the items of a list of files and names, without their quotes."""
    return [_strip_quotes(each) for each in _ITEM.findall(text)]


def split_names(text: str) -> list[str]:
    """Return the names of a list, without quotes and parentheses; texts that are no names are left out."""
    found = [_strip_quotes(each).partition("(")[0] for each in _NAME.findall(text)]
    return [each for each in found if is_name(each)]


def find_paths_of(text: str) -> list[tuple[str, int]]:
    """Return the files of a text that have an ending, each with the place where it begins."""
    return [(match[0], match.start()) for match in _PATH.finditer(text) if not match[0].endswith("/")]


def is_path(text: str) -> bool:
    """Return whether an item is a file or folder."""
    return not text.startswith("-") and (bool(_PATH.fullmatch(text)) or ("/" in text and " " not in text))


def is_name(text: str) -> bool:
    """Return whether an item can be the name of a definition or option."""
    return not is_path(text) and bool(_IDENTIFIER.fullmatch(text))


def is_bare_name(text: str) -> bool:
    """Return whether a text is quoted, or a name that is no word of a sentence."""
    return bool(_NAME.fullmatch(text))


def parse_number(text: str) -> int:
    """Return a number written in digits or as a word."""
    return (
        1 if text.lower() == "a single" else _NUMBERS.get(text.lower(), -1) if text.isalpha() else int(text)
    )


def _strip_quotes(text: str) -> str:
    stripped = text.strip("` \t")
    return "tests" if re.fullmatch(r"(?:the\s+)?tests?", stripped, re.IGNORECASE) else stripped

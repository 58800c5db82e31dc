"""Orders of a longer instruction: files that are to be adapted, names that go elsewhere, parameters, versions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packages.search.requirements.instructions.pattern import Checks, make_pattern
from packages.search.requirements.wording import (
    ARROW,
    ARTICLES,
    BARE_NAME,
    DEFINED,
    ENDINGS,
    NAME,
    NAMES,
    PATH,
    QUOTED,
    find_paths_of,
    is_bare_name,
    is_name,
    is_path,
    split_names,
)
from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.shell.parsing.syntax import parse_word_set

_QUOTE = compile_lazily(
    r"(?<![^\s(])(?P<mark>'|\"|``)(?P<word>--?[A-Za-z][\w-]*|[\w@./-]*\w/?(?:\(\))?)(?P=mark)(?![\w])"
)
_IN_FOLDER = compile_lazily(
    rf"`?(?P<file>(?<![\w./-])[\w-]+\.(?:{ENDINGS}))`?(?:\s+file)?\s+(?:(?:that is\s+)?(?:located\s+)?"
    rf"(?:in|within|under|from)"
    r"\s+(?:the\s+)?`?(?P<folder>(?!(?:same|this|that|current|root|given|new|project|whole|main|other)\b)[\w-]+(?:/[\w-]+)*)/?`?\s+(?:directory|folder)\b)"
    r"(?:\s+(?:of|in|within)\s+the\s+`?[\w/-]+`?\s+(?:directory|folder|module|package|repository)\b)?",
    re.IGNORECASE,
)


def unify_quotes(sentence: str) -> str:
    """Return a sentence whose quoted words have backticks, and whose files the folder that is told with them."""
    if not any(mark in sentence for mark in ("'", '"', "``", "folder", "directory")):
        return sentence
    sentence = _QUOTE.sub(r"`\g<word>`", sentence)
    return _IN_FOLDER.sub(lambda match: f"`{match['folder']}/{match['file']}`", sentence)


_FROM = compile_lazily(
    r"(?:\b(?:from|than|see|to|instead of|not|without|by|as|unlike|ignore|exclude)\s+(?:the\s+)?"
    r"(?:(?:existing|file|files|new|module)\s+){0,2}(?:named\s+|called\s+)?)`?$",
    re.IGNORECASE,
)


def _read_adapted(match: re.Match[str]) -> Checks:
    """The files of a list that is to be adapted; one that something comes from, or is made of, is none."""
    rest = match["rest"]
    for path, start in find_paths_of(rest):
        if not _FROM.search(rest[:start]) and rest[start + len(path) :][:2] != "'s":
            yield "file-changed", path


def _read_renamed_file(match: re.Match[str]) -> Checks:
    old, new = match["old"].strip("`"), match["new"].strip("`")
    folder = (match["folder"] or "").strip("`/")
    if folder and "/" not in old:
        old = f"{folder}/{old}"
    if "/" in old and "/" not in new:
        new = f"{old.rpartition('/')[0]}/{new}"
    if is_path(old) and is_path(new) and not new.endswith("/"):
        yield "file-gone", old
        yield "file-exists", new


def _read_renamed_name(match: re.Match[str]) -> Checks:
    """A name that is changed to another: only if they are alike, for "change total to raise" tells no name."""
    old, new = match["old"].strip("`").partition("(")[0], match["new"].strip("`").partition("(")[0]
    if is_name(old) and is_name(new) and old != new and _are_alike(old, new):
        yield "renamed", f"{old}{ARROW}{new}"


def _are_alike(old: str, new: str) -> bool:
    if (old[:1].isupper(), old.isupper()) != (new[:1].isupper(), new.isupper()):
        return False
    one, two = old.lower().replace("_", ""), new.lower().replace("_", "")
    least = max(4, min(len(one), len(two)) // 2)
    return any(one[place : place + least] in two for place in range(len(one) - least + 1))


def _read_defined(match: re.Match[str]) -> Checks:
    place = match["place"].strip("`") if match["place"] else ""
    for name in split_names(match["names"]):
        if not name.startswith("-"):
            yield "name-exists", f"{place}:{name}" if place and not place.endswith("/") else name


def _read_dotted(match: re.Match[str]) -> Checks:
    if is_name(name := match["names"].strip("`").partition("(")[0]):
        yield "name-exists", name


def _read_members(match: re.Match[str]) -> Checks:
    for owner in split_names(match["owner"])[:1]:
        yield from (("name-exists", f"{owner}.{each}") for each in split_names(match["names"]))


def _read_gone(match: re.Match[str]) -> Checks:
    place = f"{match['place'].strip('`')}:" if match["place"] else ""
    yield from (("name-gone", f"{place}{each}") for each in split_names(match["names"]) if each[:1] != "-")


def _read_put_elsewhere(match: re.Match[str]) -> Checks:
    place = match["place"].strip("`")
    if is_path(place) and not place.endswith("/"):
        yield from (("name-exists", f"{place}:{each}") for each in split_names(match["names"]))


def _read_transferred(match: re.Match[str]) -> Checks:
    """Names that leave one file for another, which may be told before: "to this new file"."""
    old = match["source"].strip("`")
    new = (match["place"] or "").strip("`") or next(iter(_list_new_files(match.string)), "")
    if not is_path(old) or not is_path(new) or new.endswith("/"):
        return
    for each in split_names(match["names"]):
        yield "name-exists", f"{new}:{each}"
        yield "name-gone", f"{old}:{each}"


def _list_new_files(sentence: str) -> Iterator[str]:
    for match in _NEW_FILE.finditer(sentence):
        yield match["path"].strip("`")


_NEW_FILE = compile_lazily(
    rf"\bnew(?:ly created)?\s+(?:file|module)\s+(?:(?:named|called)\s+)?(?P<path>`?{PATH}`?)", re.I
)


def _read_new_file(match: re.Match[str]) -> Checks:
    yield "file-exists", match["path"].strip("`")


_NO_PARAMETERS = parse_word_set(
    "a an the new optional boolean bool keyword positional extra more another additional second first third required"
    " only"
    " default single named string int integer float function method constructor command line type any same this that it"
    " query path url body config configuration template generic context missing all some unused"
)


def _read_parameter(match: re.Match[str]) -> Checks:
    name = match["name"].strip("`").partition("(")[0]
    parameter = match["parameter"].strip("`")
    before = (match.groupdict().get("before") or "").lower().split()
    if not is_bare_name(match["parameter"]) and not _NO_PARAMETERS.issuperset(before):
        return  # "a file mode parameter" tells what it is for, and no name
    if is_name(name) and is_name(parameter) and "-" not in name and parameter.lower() not in _NO_PARAMETERS:
        yield "parameter", f"{name}({parameter})"


def _read_mentioned(match: re.Match[str]) -> Checks:
    word = match["word"].strip("`\"' ").rstrip(".")
    if word and match["word"].lower() not in _PRONOUNS:
        yield "mentioned", word


def _read_documents(match: re.Match[str]) -> Checks:
    yield from (
        ("file-changed", each.lower()) for each in re.findall(_DOCUMENT, match["documents"], re.IGNORECASE)
    )


_PRONOUNS = parse_word_set("it this that them these those each all both one")
_DOCUMENT = r"\b(?:readme|changelog|contributors|authors)\b(?!\.)"
_DOCUMENTS = rf"(?P<documents>{_DOCUMENT}(?:(?:,|\s+and|\s*&)\s+(?:the\s+)?{_DOCUMENT})*)"
_VERSION = r"`?v?(?P<word>\d+(?:\.\d+\w*)+(?:[-+.]\w+)*)`?(?![\w])"
_PREFIX = r"^(?:[\w()/@. -]{1,40}:\s*)?"
_ADD = r"(?<!-)(?:add|adds|adding|added|create|creating|define|implement|introduce|write|provide|expose)"
_ADJECTIVES = (
    r"(?:(?:new|simple|public|private|small|custom|separate|missing|helper|utility|data|abstract|base|boolean"
    r"|optional|exception|error)\s+){0,3}"
)
_A = r"(?:an?|the|one|another|some)"
_NOUN = (
    r"(?:packages?|dependency|imports?|entry|badge|sections?|settings?|config(?:uration)?|key|"
    r"env(?:ironment)?\s+(?:var|variable)|package\s+references?)"
)
_PARAMETER = r"(?:parameter|paramter|argument|kwarg)"
_ALL = (
    r"(?:(?:all|every|each)\s+)?(?:(?:references?|uses?|usages?|occurrences?|instances?)\s+(?:and\s+"
    r"\w+\s+)?(?:of|to)\s+)?"
)
_MORE = r"(?:(?:boolean|bool|optional|keyword|new|positional|string|int|integer|required|keyword-only)\s+)*"
_NEW = r"(?:(?:new|newly created|separate|existing|other)\s+)*"

INSTRUCTIONS = (
    make_pattern(("updat modif revis adjust refactor chang renam", ". / `"),
                 r"\b(?:update|modify|revise|adjust|refactor|change|rename)\b(?P<rest>[^\n]{1,800})", _read_adapted),
    make_pattern(("ensur sure confirm", "updat adjust chang modif", ". / `"),
                 r"\b(?:ensure|make\s+"
                 r"sure|confirm)\b(?=[^\n]*\b(?:updat|adjust|chang|modif)\w*)(?P<rest>[^\n]{1,800})", _read_adapted),
    make_pattern(("renam",),
                 rf"\brename\s+{ARTICLES}(?:(?:called|named)\s+)?(?P<old>`?{PATH}`?)(?:\s+in\s+(?:the\s+)?"
                 rf"(?P<folder>`?[\w/-]+`?))?"
                 rf"\s+(?:to|as|into)\s+(?P<new>`?{PATH}`?)", _read_renamed_file),
    make_pattern(("renam", "attribute variable constant field propert all every"),
                 rf"\brename\s+{_ALL}(?:the\s+)?(?:(?:attribute|variable|constant|field|property)\s+)?"
                 rf"(?P<old>{NAME})\s+(?:to|into)\s+(?P<new>{NAME})",
                 _read_renamed_name),
    make_pattern(("chang updat replac",),
                 rf"\b(?:change|update|replace)\s+{_ALL}(?:the\s+)?(?:name\s+of\s+)?(?:the\s+)?"
                 rf"(?:(?:{DEFINED}|attribute|variable|name)\s+)?"
                 rf"(?P<old>{NAME})(?:\s+(?:{DEFINED}|attribute|variable|name))?\s+(?:to|with|by)\s+(?:the\s+)?"
                 rf"(?P<new>{NAME}|(?-i:[A-Z]\w+))(?=\s*(?:$|[.,;:)]|(?:in|and|everywhere|throughout|across|{DEFINED})\b))",
                 _read_renamed_name),
    make_pattern(("add creat defin implement introduc writ provid expos",
                  "function method class constant exception enum helper"),
                 rf"\b{_ADD}\s+(?:{_A}\s+)?{_ADJECTIVES}(?P<names>{BARE_NAME}|{QUOTED})\s+"
                 rf"(?:exception|class|function|method|helper|constant|enum)\b"
                 rf"(?:\s+(?:to|in|into)\s+{ARTICLES}(?P<place>`?{PATH}`?))?", _read_defined),
    make_pattern(("new one another", "named called"),
                 rf"\b(?:new|one|another)\s+{_ADJECTIVES}(?:{DEFINED}|dataclass)\s+(?:named|called)\s+"
                 rf"(?P<names>{NAME})"
                 rf"(?:\s+(?:to|in|into)\s+{ARTICLES}(?:(?:named|called)\s+)?(?P<place>`?{PATH}`?))?", _read_defined),
    make_pattern(("class",),
                 rf"\bclass\s+(?:(?:named|called)\s+)?(?P<owner>{NAME})\s+(?:that|which)\s+"
                 rf"(?:combines|contains|has|includes|groups|holds)\s+"
                 rf"(?:the\s+)?(?:[\w-]+\s+){{0,2}}(?:functions|methods)\s+(?P<names>{NAMES})", _read_members),
    make_pattern(("property method function class field",),
                 rf"{_PREFIX}(?P<names>{QUOTED}|(?-i:[A-Z]\w*\.[a-z_]\w*)(?:\(\))?)\s+"
                 rf"(?:property|method|classmethod|attribute)(?P<place>)"
                 r"(?=\s*(?:$|[,;]|and\b|for\b|to\b))(?!\s+(?:is|does|should)\b)", _read_dotted),
    make_pattern(("no longer exist",),
                 rf"(?P<names>{NAMES})\s+(?:{DEFINED}\s+)?(?:should\s+|must\s+)?no\s+longer\s+exists?\b"
        rf"(?:\s+in\s+{ARTICLES}(?P<place>`?{PATH}`?))?", _read_gone, False),
    make_pattern(("mov tak pull extract", "put plac"),
                 rf"\b(?:move|take|pull|extract)\s+(?:out\s+)?(?:the\s+)?"
                 rf"(?P<names>{NAME})[^\n;]{{0,120}}?\b(?:put|place)\s+(?:it|them)\s+in(?:to)?\s+"
                 rf"(?:an?\s+|the\s+)?{_NEW}(?:files?|modules?)?\s*(?:(?:called|named)\s+)?"
                 rf"(?P<place>`?{PATH}`?)", _read_put_elsewhere),
    make_pattern(("mov transfer relocat", "from"),
                 rf"\b(?:move|transfer|relocate)\s+(?:all\s+)?(?:of\s+)?(?:the\s+)?(?:[\w-]+\s+"
                 rf"){{0,3}}?(?:\((?:such\s+as|like|including|namely|i\.e\.)\s+)?(?P<names>{NAMES})\)?"
                 rf"(?:\s+{DEFINED})?\s+from\s+(?:the\s+)?{_NEW}(?:file\s+|module\s+)?(?:named\s+)?"
                 rf"(?P<source>`?{PATH}`?)(?:\s+file|\s+module)?"
                 rf"(?:\s+(?:in|of|within)\s+the\s+[\w/ -]{{1,40}}?)?\s+(?:in)?to\s+"
                 rf"(?:(?:an?\s+|the\s+)?{_NEW}(?:file\s+|module\s+)?(?:(?:called|named)\s+)?"
                 rf"(?P<place>`?{PATH}`?)|(?:this|that|the)\s+(?:new\s+)?(?:file|module)\b)",
                 _read_transferred),
    make_pattern(("mov transfer relocat",),
                 rf"\b(?:move|transfer|relocate)\s+(?:the\s+)?(?:definitions?\s+of\s+)?(?:the\s+)?"
                 rf"(?P<names>{NAMES})(?:\s+{DEFINED})?\s+(?:in)?to\s+"
                 rf"(?:an?\s+|the\s+)?{_NEW}(?:files?|modules?)\s+(?:(?:called|named)\s+)?"
                 rf"(?P<place>`?{PATH}`?)", _read_put_elsewhere),
    make_pattern(("new", ". `"),
                 rf"\b(?:as|in|into|to)\s+a\s+new(?:ly\s+created)?\s+(?:file|module)\s+(?:named|called)\s+"
                 rf"(?P<path>`?{PATH}`?)", _read_new_file),
    make_pattern(("parameter paramter argument kwarg",),
                 rf"\badd\s+(?:an?\s+|the\s+)?(?P<before>(?:\w+\s+){{0,2}}?)(?P<parameter>`?\w+`?)\s+{_MORE}{_PARAMETER}\s+"
                 rf"(?:to|for)\s+(?:the\s+)?"
                 rf"(?:{DEFINED}\s+)?(?P<name>{NAME}|\w+(?=\s+(?:function|method)\b))", _read_parameter),
    make_pattern(("parameter paramter argument", "named called"),
                 rf"\b(?:change|update|modify|extend)\s+(?:the\s+)?(?:{DEFINED}\s+)?"
                 rf"(?P<name>{NAME})(?:\s+{DEFINED})?\b[^;\n]{{0,160}}?\bto\s+"
                 rf"(?:include|have|take|accept)\s+(?:an?\s+)?(?:\w+\s+){{0,4}}?{_PARAMETER}\s+"
                 rf"(?:named|called)\s+(?P<parameter>`?\w+`?)",
                 _read_parameter),
    make_pattern(("parameter paramter argument kwarg", "hav tak accept"),
                 rf"\b(?:change|update|modify|extend)\s+(?:the\s+)?(?:{DEFINED}\s+)?"
                 rf"(?P<name>{NAME})(?:\s+{DEFINED})?\s+(?:to|so\s+that\s+it)\s+"
                 rf"(?:ha(?:ve|s)|takes?|accepts?)\s+(?:an?\s+)(?:\w+\s+"
                 rf")??{_MORE}(?P<parameter>`?\w+`?)\s+{_MORE}{_PARAMETER}\b", _read_parameter),
    make_pattern(("bump updat upgrad",),
                 rf"{_PREFIX}(?:bump|update|upgrade)\s+(?:the\s+)?[\w@./\[\]-]+(?:\s+"
                 rf"(?:requirement|version|image))?(?:\s+from\s+\S+)?\s+to\s+(?:version\s+)?{_VERSION}",
                 _read_mentioned),
    make_pattern(("add", "entry section note reference link example"),
                 rf"\b{_ADD}\s+(?:{_A}\s+)?(?:\w+\s+){{0,2}}?(?:entry|section|note|reference|link|example)s?\s+"
                 rf"(?:about|for|on|to)\s+(?:the\s+)?(?P<word>{QUOTED})",
                 _read_mentioned),
    make_pattern(("add", "list"),
                 r"\badd\s+(?P<word>`?[\w.+#-]+`?)\s+to\s+(?:the\s+)?(?:[\w-]+\s+){0,3}list\b", _read_mentioned),
    make_pattern(("add",),
                 rf"\badd(?:ed|s|ing)?\s+(?:an?\s+|the\s+)?"
                 rf"(?P<word>{BARE_NAME}|{QUOTED}|(?-i:[A-Z]\w+(?:\.[A-Z]\w+)+))\s+{_NOUN}\b", _read_mentioned),
    make_pattern(("readme changelog contributors authors",),
                 rf"\b(?:updat(?:e|ed|es|ing)|edit|regenerate|revise|fix|extend|amend)\s+(?:the\s+"
                 rf")?{_DOCUMENTS}", _read_documents),
    make_pattern(("readme changelog contributors authors",),
                 rf"\b(?:in|to)\s+(?:the\s+)?{_DOCUMENTS}(?=\s*(?:$|[.,;:)(]))", _read_documents),
    make_pattern(("docs",), rf"^docs?\({_DOCUMENTS}\):", _read_documents),
)  # fmt: skip
"""Read after those of single sentences."""

"""Sentences that say what code can check, as patterns. An unrecognised sentence costs a check, a wrong one a turn."""

from __future__ import annotations

import re
from collections.abc import Callable

from agent.verify.requirement import Kind
from packages.search.requirements.instructions.orders import INSTRUCTIONS, unify_quotes
from packages.search.requirements.instructions.pattern import Checks, make_pattern
from packages.search.requirements.stated_results import find_stated_outputs, find_stated_results
from packages.search.requirements.wording import (
    ARROW,
    ARTICLES,
    CHANGE,
    DEFINED,
    ITEM,
    LIST,
    MUST,
    NAME,
    NAMES,
    NOT,
    NUMBER,
    PATH,
    QUOTED,
    UNTOUCHED,
    is_name,
    is_path,
    parse_number,
    split_items,
    split_names,
)
from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.shell.parsing.syntax import parse_word_set


def find_checks(sentence: str) -> list[tuple[Kind, str]]:
    """Return the checks that one sentence asks for, in the order of the text."""
    found: list[tuple[int, tuple[Kind, str]]] = []
    plain, sentence = sentence, unify_quotes(sentence)
    lower = sentence.lower()
    for pattern in (*PATTERNS, *INSTRUCTIONS):
        if not all(any(stem in lower for stem in group) for group in pattern.stems):
            continue
        for match in pattern.regex.finditer(sentence):
            if pattern.is_order and _NO_ORDER.search(sentence[: match.start()]):
                continue
            found += [(match.start(), check) for check in pattern.read(match)]
    found += [(place, ("result", check)) for place, check in find_stated_results(plain)]
    found += [(place, ("output", check)) for place, check in find_stated_outputs(plain)]
    kept = list(dict.fromkeys(check for _, check in sorted(found, key=lambda each: each[0])))
    others = (path for kind, path in kept if kind in ("file-unchanged", "only-files", "file-gone"))
    taken = {path for each in others for path in (*each.split(", "), each.rpartition("/")[2])}
    return [each for each in kept if each[0] != "file-changed" or each[1] not in taken]


_NO_ORDER = compile_lazily(
    r"(?:\b(?:not|never|without|only|may|might|can|could|or|if you|avoid)|n't)\s+(?:\w+\s+)?$", re.IGNORECASE
)


def _read_unchanged(match: re.Match[str]) -> Checks:
    for each in split_items(match["list"]):
        if each == "tests" or is_path(each):
            yield "file-unchanged", each
        elif is_name(each.partition("(")[0]):
            yield "name-unchanged", each.partition("(")[0]


def _read_files(kind: Kind) -> Callable[[re.Match[str]], Checks]:
    def read(match: re.Match[str]) -> Checks:
        yield from ((kind, each) for each in split_items(match["list"]) if is_path(each))

    return read


def _read_only(match: re.Match[str]) -> Checks:
    if paths := [each for each in split_items(match["list"]) if is_path(each) or each == "tests"]:
        yield "only-files", ", ".join(paths)


def _read_existence(match: re.Match[str]) -> Checks:
    for each in split_items(match["list"]):
        name = each.partition("(")[0]
        if is_path(each):
            yield "file-exists", each
        elif is_name(name):
            yield "name-exists", name


def _read_absence(match: re.Match[str]) -> Checks:
    for kind, check in _read_existence(match):
        yield ("file-gone" if kind == "file-exists" else "name-gone"), check


def _read_definition(match: re.Match[str]) -> Checks:
    place = match["place"].strip("`") if match["place"] else ""
    for name in _list_defined_names(match):
        yield "name-exists", f"{place}:{name}" if place else name


def _read_removed_names(match: re.Match[str]) -> Checks:
    """A name that is removed from a file may go elsewhere."""
    place = (match["place"] or "").strip("`")
    prefix = f"{place}:" if place and not place.endswith("/") else ""
    yield from (("name-gone", f"{prefix}{each}") for each in _list_defined_names(match))


def _list_defined_names(match: re.Match[str]) -> list[str]:
    """Return the names that can be looked up: an option without dashes may be a key, a field or a parameter."""
    names = split_names(match["names"])
    around = match[0].replace(match["names"], " ", 1)
    is_option = re.search(r"\b(?:options?|flags?)\b", around, re.IGNORECASE)
    return [each for each in names if each.startswith("-") or not is_option]


def _read_move(match: re.Match[str]) -> Checks:
    (old, *_), (new, *_) = (
        split_items(match["old"]) or split_names(match["old"]) or [""],
        split_items(match["new"]) or split_names(match["new"]) or [""],
    )
    old, new = old.partition("(")[0], new.partition("(")[0]
    if is_path(old) and is_path(new):
        yield "file-gone", old
        yield "file-exists", new + old.rpartition("/")[2] if new.endswith("/") else new
    elif is_name(old) and is_name(new):
        yield "renamed", f"{old}{ARROW}{new}"
    elif is_name(old) and is_path(new) and not new.endswith("/"):
        yield "name-exists", f"{new}:{old}"


def _read_word_move(match: re.Match[str]) -> Checks:
    """Two words: names, if the code defines the first one."""
    old, new = match["old"].strip("`"), match["new"].strip("`").partition("(")[0]
    if is_name(old) and is_name(new) and old != new and not {old.lower(), new.lower()} & _NO_NAMES:
        yield "renamed", f"{old}{ARROW}{new}"


def _read_named(kind: Kind) -> Callable[[re.Match[str]], Checks]:
    def read(match: re.Match[str]) -> Checks:
        for each in re.split(r"\s*,\s*(?:and\s+)?|\s+and\s+", match["words"] or ""):
            name = each.strip("` ").partition("(")[0]
            if is_name(name) and name.lower() not in _NO_NAMES:
                yield kind, name

    return read


def _read_tests(match: re.Match[str]) -> Checks:
    named = list(_read_named("tested")(match))
    yield from named or [("tested", "")]


def _read_any_tests(match: re.Match[str]) -> Checks:
    yield "tested", ""


_NO_NAMES = parse_word_set(
    "a an the it its this that these those them both all any some each every new old more other functions function"
    " method methods class classes module modules file files code tests test something everything name names variable"
    " variables"
)


def _read_moved_name(match: re.Match[str]) -> Checks:
    name = (match["word"] or match["name"]).strip("`").partition("(")[0]
    if is_name(name) and not match["place"].strip("`").endswith("/"):
        yield "name-exists", f"{match['place'].strip('`')}:{name}"


def _read_options(match: re.Match[str]) -> Checks:
    yield from (("name-exists", each) for each in split_names(match["names"]) if each.startswith("-"))


_TEST_FILE = compile_lazily(r"(?:^|/)(?:test_[\w.-]+|[\w.-]+[_.-](?:test|spec)s?\.\w+)$|^tests?/")
_TESTED = rf"(?:\b[\w./-]+::\w[\w:-]*(?:\[[^\]\n]*\])?|\btest_\w+\b(?![/.])|{ITEM})"
_PROGRAMS = parse_word_set("make pytest tox nox ruff mypy cargo go npm yarn pnpm just ninja ctest")


def _read_success(match: re.Match[str]) -> Checks:
    """A quoted text that succeeds: a test, or a command."""
    for item in re.findall(_TESTED, match["list"]):
        each, is_quoted = item.strip("`"), item.startswith("`")
        is_one_word = " " not in each.strip()
        if is_one_word and ("::" in each or re.fullmatch(r"test_\w+", each) or _TEST_FILE.search(each)):
            yield "tests", each
        elif is_quoted and (not is_one_word or each.startswith("./") or each in _PROGRAMS):
            yield "command", each


def _read_suite(match: re.Match[str]) -> Checks:
    yield "tests", ""


def _read_limit(match: re.Match[str]) -> Checks:
    number = parse_number(match["number"])
    if match["word"].lower() in ("fewer than", "less than", "under", "below"):
        number -= 1
    if number >= 0:
        yield ("max-lines" if match["unit"].lower().startswith("line") else "max-files"), str(number)


def _read_dependency(match: re.Match[str]) -> Checks:
    yield "no-dependency", ""


def _read_signature(match: re.Match[str]) -> Checks:
    words = (each.strip("`") for each in re.findall(rf"{NAME}|[A-Za-z_][\w.]*", match["names"]))
    names = (each.partition("(")[0] for each in words if each not in ("and", "or", "nor"))
    yield from (("signature", each) for each in names if is_name(each))


_CHANGED = "chang touch edit modif alter"
_MUST = "must should shall has have need"
_PATHS = ". / ` makefile dockerfile"
_DEFINED = "function method class constant exception struct interface type enum fixture option flag helper"
_PASSING = "pass green clean succe work run exit"
_ADDED = "add defin implement creat writ introduc provid expos"
_REMOVED = "delet remov drop"
_SURELY = "sure see so until such"


_L = rf"(?P<list>{LIST})"
_END = r"(?!['\N{RIGHT SINGLE QUOTATION MARK}]s|[\w/*]|\.\*|\s+(?:links?|references?|urls?)\b)"
_SUCCEEDS = (
    r"(?:keep passing\b|continue to pass\b|stay green\b|"
    r"(?:(?:still|also|all|both)\s+)*(?:be\s+(?:green|clean)|succeeds?|pass(?:es)?|works?|runs? cleanly"
    r"|exits?\s+(?:with\s+)?(?:(?:code|status)\s+)?0)\b)"
)
_SURE = r"(?:make sure|ensure|see to it|so that|until|such that)(?:\s+that)?"
_T = rf"(?P<list>{_TESTED}(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+){_TESTED}){{0,11}})"
_SUITE = r"(?:all|every|the whole|existing)(?:\s+(?:of the|the|existing|unit))*\s+(?:tests?|test suite|suite)"

_WORD = rf"(?:{QUOTED}|(?<![\w./-])[A-Za-z_][\w.]*\w(?:\(\))?)"
_WORDS = rf"{_WORD}(?:\s*,\s*(?:and\s+)?{_WORD}|\s+and\s+{_WORD}){{0,5}}"
_WORD_END = (
    r"(?=\s*(?:$|[.,;:!?)]"
    r"|(?:in|and|with|so|but|everywhere|throughout|across|too|as well|function|method|class)\b))"
)

PATTERNS = (
    make_pattern(("not n't dont never without avoid", _CHANGED,),
          rf"\b{NOT}\s+(?:ever\s+)?{CHANGE}\s+{ARTICLES}{_L}{_END}", _read_unchanged, False),
    make_pattern(("leave keep", "unchanged untouched unmodified alone as",),
          rf"\b(?:leave|keep)\s+{ARTICLES}{_L}\s+{UNTOUCHED}\b", _read_unchanged),
    make_pattern((_MUST, "not unchanged untouched unmodified alone as",),
          rf"{_L}\s+{MUST}\s+(?:not\s+(?:be\s+)?{CHANGE}|(?:stay|remain|be left|be kept)\s+{UNTOUCHED})\b",
          _read_unchanged, False),
    make_pattern(("only", _CHANGED,),
          rf"\bonly\s+{CHANGE}\s+{ARTICLES}{_L}{_END}", _read_only, False),
    make_pattern(("only", _CHANGED,),
          rf"\b{CHANGE}\s+only\s+{ARTICLES}{_L}{_END}", _read_only, False),
    make_pattern(("nothing", _CHANGED,),
          rf"\b{CHANGE}\s+nothing\s+(?:but|except|other than|outside(?:\s+of)?)\s+{ARTICLES}{_L}{_END}",
          _read_only, False),
    make_pattern(("file nothing", "but except than besides", _CHANGED,),
          r"\b(?:no\s+(?:other\s+)?files?|nothing)(?:\s+else)?\s+(?:but|except|other\s+than|besides|than)\s+"
          rf"{ARTICLES}{_L}"
          rf"(?:\s+(?:may|must|should|can|is to|are to|will)\s+(?:be\s+)?{CHANGE}|\s+{CHANGE})\b", _read_only, False),
    make_pattern(("keep limit", "line file",),
          r"\b(?:keep|limit)\s+(?:it|this|that|them)\s+(?:to\s+)?"
          r"(?P<word>at most|no more than|under|below|within|to|at)\s+"
          rf"(?P<number>{NUMBER})\s+(?P<unit>lines?|files?)\b", _read_limit, False),
    make_pattern(("creat add writ generat", _PATHS,),
          rf"\b(?:create|add|write|generate)\s+{ARTICLES}(?:(?:called|named|at)\s+)?(?P<list>`?{PATH}`?){_END}",
          _read_files("file-exists")),
    make_pattern((_MUST, "exist",),
          rf"{_L}\s+{MUST}\s+exist\b", _read_existence, False),
    make_pattern((_REMOVED,),
          rf"\b(?:delete|remove|drop)\s+{ARTICLES}{_L}{_END}", _read_files("file-gone")),
    make_pattern((_MUST, "exist gone deleted removed",),
          rf"{_L}\s+{MUST}\s+(?:no longer exist|not exist(?:\s+any ?more)?|be (?:gone|deleted|removed))\b",
          _read_absence, False),
    make_pattern(("mov", "from",),
          rf"\bmove\s+(?:the\s+)?(?:{DEFINED}\s+(?P<word>`?[A-Za-z_]\w*`?)|(?P<name>{NAME}))"
          rf"\s+from\s+{ARTICLES}`?{PATH}`?\s+(?:in)?to\s+{ARTICLES}(?P<place>`?{PATH}`?){_END}", _read_moved_name),
    make_pattern(("with", "option flag",),
          rf"\bwith\s+(?:an?\s+|the\s+)?(?:new\s+)?(?:options?|flags?)\s+(?P<names>{NAMES})", _read_options),
    make_pattern(("renam mov",),
          rf"\b(?:rename|move)\s+{ARTICLES}(?:{DEFINED}\s+)?(?P<old>{ITEM}|{NAME})\s+(?:to|into|as)\s+{ARTICLES}(?P<new>{ITEM}|{NAME})",
          _read_move),
    make_pattern(("renam",),
          rf"\brename\s+{ARTICLES}(?:{DEFINED}\s+)?(?P<old>{_WORD})\s+(?:to|into|as)\s+{ARTICLES}(?P<new>{_WORD}){_WORD_END}",
          _read_word_move),
    make_pattern(("docstring",),
          rf"\b(?:add|write)\s+(?:an?\s+|the\s+)?(?:missing\s+)?docstrings?\s+(?:to|for)\s+{ARTICLES}(?:{DEFINED}\s+)?(?P<words>{_WORDS}){_WORD_END}",
          _read_named("documented")),
    make_pattern(("type", "hint annotation",),
          rf"\b(?:add|write|complete)\s+(?:the\s+)?(?:missing\s+)?type\s+(?:hints?|annotations?)\s+(?:to|for)\s+{ARTICLES}(?:{DEFINED}\s+)?(?P<words>{_WORDS}){_WORD_END}",
          _read_named("typed")),
    make_pattern(("deprecat",),
          rf"\bdeprecate\s+{ARTICLES}(?:{DEFINED}\s+)?(?P<words>{_WORDS}){_WORD_END}", _read_named("deprecated")),
    make_pattern(("test",),
          rf"\b(?:add(?:ing|ed|s)?|write|create)\s+(?:an?\s+|some\s+|more\s+|the\s+|new\s+|missing\s+|failing\s+)*(?:unit\s+|regression\s+)?tests?(?:\s+cases?)?\b"
        r"(?![^;\n]{0,60}\b(?:to|in|into)\s+(?:the\s+)?(?:sdist|wheels?|packages?|manifest|distribution|tarball|archives?)\b)"
        r"(?![^;\n]{0,60}\bin\s+(?:the\s+)?(?:\w+\s+)?config(?:uration)?\s*(?:$|[.,;(]))"
          rf"(?:\s+(?:for|of)\s+{ARTICLES}(?:{DEFINED}\s+)?(?P<words>{_WORDS}){_WORD_END}"
          r"|(?=\s*(?:$|[.,;:!)]|(?:for|of|that|which|to|in|with|and|covering|checking|showing)\b)))", _read_tests),
    make_pattern(("test",),
          r"\b(?:add|write|create)\s+(?:an?\s+|the\s+|some\s+)?"
          r"(?:(?!(?:an?|the|some|more|new|missing|for|to|of|in|on|with|from|support|unit|regression|test)\b)[\w@`./-]+\s+){1,2}tests?(?:\s+cases?)?"
          r"(?=\s*(?:$|[.,;(]|(?:for|of)\b))", _read_any_tests),
    make_pattern(("test",),
          rf"\b(?:additional|more)\s+(?P<words>{_WORD})\s+(?:function\s+|method\s+)?tests?(?:\s+cases?)?(?=\s*(?:$|[.,;(]))",
          _read_tests),
    make_pattern(("coverage",),
          rf"\b(?:increase|improve|extend|add)\s+(?:the\s+)?test\s+(?:code\s+)?coverage\s+(?:for|of)\s+{ARTICLES}"
          rf"(?P<words>{_WORDS}){_WORD_END}", _read_tests),
    make_pattern(("test",),
          r"^(?:[\w()/-]+:\s*)?test\s+that\s+\w|^fix(?:es|ed)?\s+and\s+tests?\s+for\b"
          r"|\bwith\s+tests\b(?=\s*(?:$|[.,;(]|(?:for|of)\b))", _read_any_tests),
    make_pattern(("docs documentation docstring",),
          rf"\b(?:add(?:ed)?|write)\s+(?:an?\s+|the\s+)?(?:docs|documentation|docstrings?)\s+(?:to|for)\s+{ARTICLES}"
          rf"(?P<words>{_WORDS})\s+(?:function|method|class)\b", _read_named("documented")),
    make_pattern(("chang edit updat modif rewrit extend adapt adjust fix refactor",),
          rf"\b(?:change|edit|update|modify|rewrite|extend|adapt|adjust|fix|refactor)\s+{ARTICLES}{_L}{_END}",
          _read_files("file-changed")),
    make_pattern((_MUST, "changed updated edited adapted extended rewritten",),
          rf"{_L}\s+{MUST}\s+(?:also\s+)?be\s+(?:changed|updated|edited|adapted|extended|rewritten)\b",
          _read_files("file-changed"), False),
    make_pattern(("add",),
          rf"\badd\s+[^.;:!?\n`]{{1,60}}?(?:`[^`\n]+`\s+)?(?:to|in|into)\s+{ARTICLES}{_L}{_END}",
          _read_files("file-changed")),
    make_pattern((_ADDED, _DEFINED,),
          r"\b(?:add|define|implement|create|write|introduce|provide|expose)\s+(?:an?\s+|the\s+|one\s+)?(?:\w+\s+){0,2}?"
          rf"{DEFINED}\s+(?:(?:called|named)\s+)?(?P<names>{NAMES})(?:\([^)\n]*\))?`?"
          rf"(?:\s+(?:to|in|into)\s+{ARTICLES}(?P<place>`?{PATH}`?))?", _read_definition),
    make_pattern((_ADDED, _DEFINED,),
          rf"\b(?:add|define|implement|create|write|introduce|provide|expose)\s+(?:an?\s+|the\s+)?(?P<names>{NAME})\s+(?!types?\b){DEFINED}\b"
          rf"(?:\s+(?:to|in|into)\s+{ARTICLES}(?P<place>`?{PATH}`?))?", _read_definition),
    make_pattern((_MUST, _DEFINED,),
          rf"\b(?:there\s+)?{MUST}\s+(?:be|have|define|contain)\s+(?:an?\s+)?{DEFINED}\s+(?:(?:called|named)\s+)?(?P<names>{NAMES})"
          rf"(?:\s+in\s+(?P<place>`?{PATH}`?))?", _read_definition, False),
    make_pattern((_REMOVED, _DEFINED,),
          rf"\b(?:delete|remove|drop)\s+(?:the\s+|our\s+)?(?:\w+\s+){{0,2}}?{DEFINED}\s+(?:(?:called|named)\s+)?(?P<names>{NAMES})"
          rf"(?:\s+from\s+{ARTICLES}(?P<place>`?{PATH}`?))?", _read_removed_names),
    make_pattern((_MUST, _PASSING,),
          rf"{_T}\s+{MUST}\s+{_SUCCEEDS}", _read_success, False),
    make_pattern((_SURELY, _PASSING,),
          rf"\b{_SURE}\s+(?:[\w ]{{0,30}}?\s)?{_T}\s+{_SUCCEEDS}", _read_success, False),
    make_pattern(("make get", "pass",),
          rf"\b(?:make|get)\s+{ARTICLES}(?:(?:failing|broken|red)\s+)?(?:tests?\s+)?{_T}\s+pass\b", _read_success),
    make_pattern((_PASSING,),
          rf"^\s*{_T}\s+{_SUCCEEDS}\W*$", _read_success, False),
    make_pattern((_MUST, _PASSING, "test suite",),
          rf"\b{_SUITE}\s+{MUST}\s+{_SUCCEEDS}", _read_suite, False),
    make_pattern(("test suite", _PASSING,),
          rf"\b(?:{_SURE}|make)\s+(?:[^;\n]{{0,80}}?\s)??{_SUITE}\s+{_SUCCEEDS}", _read_suite, False),
    make_pattern(("line file", "most more than less fewer under below up only just",),
          rf"^(?=.*\b(?:diff|patch|chang\w+|touch\w*|edit\w*|modif\w+)\b)(?!.*\b(?:function|method|class|per|each)\b)"
          rf".*?\b(?P<word>at most|no more than|not more than|fewer than|less than|under|below|up to|only|just)\s+"
          rf"(?P<number>{NUMBER})\s+(?:(?:changed|new|added|other|existing)\s+)?(?P<unit>lines?|files?)\b",
          _read_limit, False),
    make_pattern(("dependenc",),
          r"\b(?:(?:no|without(?:\s+any)?)\s+(?:new|additional|extra|more|further)"
          rf"|(?:{NOT})\s+(?:add\w*|introduc\w*|install\w*)(?:\s+(?:any|new|a|more))*)"
          r"\s+(?:third[- ]party\s+|external\s+|runtime\s+)*dependenc(?:y|ies)\b", _read_dependency, False),
    make_pattern(("signature",),
          rf"\b(?:keep|preserve|retain|{NOT}\s+{CHANGE})\s+(?:the\s+)?(?:public\s+|exact\s+)?signatures?\s+of\s+"
          rf"(?:the\s+)?(?:{DEFINED}\s+)?(?P<names>(?:{NAMES}|[a-z_]\w*(?=\W|$)))", _read_signature, False),
    make_pattern(("signature",),
          rf"(?P<names>{NAMES})\s+(?:{MUST}\s+)?keeps?\s+(?:its|their)\s+signatures?\b", _read_signature, False),
    make_pattern(("signature",),
          rf"\bsignatures?\s+of\s+(?P<names>{NAMES})\s+(?:{MUST}\s+(?:not\s+(?:be\s+)?{CHANGE}|stay|remain)"
          r"|stays|remains|does not change)\b", _read_signature, False),
)  # fmt: skip
"""Read in this order; what two of them find in one sentence counts once."""

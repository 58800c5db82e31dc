"""Queries of an index: definitions, references, callees, imports, similar files, impacted tests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from sandbox.lazy_dataclass import dataclass
from tools.code.index.bm25 import score_texts
from tools.code.index.code_index import Index
from tools.code.index.module_resolution import Modules, get_module_parts
from tools.code.index.parsing.document_outline import slugify_heading
from tools.code.index.parsing.file_facts import Symbol
from tools.code.index.parsing.identifier_words import count_words

MAX_FILES = 400
"""Files searched for a name: above this number the name is too common to be useful."""

RAN = 12.0
"""Score of a test that ran the file: higher than for one that imports it and uses some names that it defines.
"""

_NEAR = 2000
"""Candidate names for the closest matches of an unknown one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDefinition:
    """A definition and its file."""

    path: str
    symbol: Symbol


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """A line with a use of a name. within: the enclosing symbol, "" at the top of a file"""

    path: str
    line: int
    within: str
    called: bool
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CalledName:
    """A name that is called in a symbol, and its definitions in the workspace."""

    name: str
    line: int
    definitions: tuple[FoundDefinition, ...]


@lru_cache(maxsize=50_000)
def is_test(path: str) -> bool:
    """Return whether the file is a test, by its name or a folder's."""
    parts = path.lower().split("/")
    name = parts[-1]
    return (
        any(part in _TEST_FOLDERS for part in parts[:-1])
        or name.startswith(("test_", "tests.", "test."))
        or bool(re.search(r"(_test|_spec|\.test|\.spec|_tests)\.\w+$", name))
        or name == "conftest.py"
        or bool(re.search(r"Tests?\.(java|kt|cs|php|swift|scala)$", path))
    )


_TEST_FOLDERS = frozenset({"test", "tests", "testing", "spec", "specs", "__tests__", "testdata", "js_tests"})


def split_name(name: str) -> tuple[str, ...]:
    """Split `shop/cart.Cart#total(self)` into shop, cart, Cart, total."""
    bare = re.sub(r"\(.*", "", name.strip())
    bare = re.sub(r"<[^<>]*>", "", bare)
    words = bare.split()
    bare = words[-1] if words else ""
    return tuple(part for part in re.split(r"::|->|\\|[./#]", bare) if part)


def find_definitions(index: Index, name: str) -> list[FoundDefinition]:
    """Return definitions of a name: short, qualified ("Cart.total"), or with its module in front. Tests last.

    Without any, headings and keys of documents: "getting-started", "Getting started", "scripts.build".
    """
    wanted = split_name(name)
    if not wanted:
        return []
    holders = [path for path, defined, _, _ in index.find_files_with_name(wanted[-1]) if defined]
    holders.sort(key=is_test)
    if not holders:
        wanted = (slugify_heading(name),) if " " in name.strip() else wanted
        holders = index.find_documents(wanted[-1])
    if len(wanted) == 1:
        holders = holders[:MAX_FILES]
    found = [
        FoundDefinition(path=path, symbol=symbol)
        for path, outline in index.outlines(holders).items()
        for symbol in outline.symbols
        if symbol.short == wanted[-1] and _is_match(wanted, symbol.name, path, outline.package)
    ]
    return sorted(found, key=lambda each: (is_test(each.path), each.symbol.kind == "variable", each.path))


def _is_match(wanted: tuple[str, ...], name: str, path: str, package: str) -> bool:
    own = tuple(name.split("."))
    if own[-len(wanted) :] == wanted:
        return True
    rest = wanted[: len(wanted) - len(own)]
    if len(own) >= len(wanted) or wanted[len(rest) :] != own:
        return False
    module = get_module_parts(path)
    return module[-len(rest) :] == rest or tuple(package.split("."))[-len(rest) :] == rest


def find_similar_names(index: Index, name: str) -> list[str]:
    """Return defined names that are similar to an unknown one."""
    import difflib

    wanted = split_name(name)
    if not wanted:
        return []
    last = wanted[-1]
    terms: list[str] = []
    for start in dict.fromkeys((last[:3], last[:3].capitalize(), last[:3].lower(), "_" + last[:2])):
        terms += [term[1:] for term in index.store.find_terms("=" + start, _NEAR)]
    lower: dict[str, list[str]] = {}
    for term in dict.fromkeys(terms):
        lower.setdefault(term.lower(), []).append(term)
    close = [
        term
        for each in difflib.get_close_matches(last.lower(), lower, n=12, cutoff=0.7)
        for term in lower[each]
    ]
    return [each for each in close if any(defined for _, defined, _, _ in index.find_files_with_name(each))][
        :5
    ]


def find_references(index: Index, name: str, *, calls: bool = False) -> Iterator[Use]:
    """Yield lines that use a name without defining it, test files last; calls: only where it is called.

    Matching is by name alone: two methods of one name are not distinguished.
    """
    wanted = split_name(name)
    if not wanted:
        return
    last = wanted[-1]
    holders = [
        path
        for path, defined, used, called in index.find_files_with_name(last)
        if (called if calls else used)
    ]
    holders.sort(key=lambda path: (is_test(path), path))
    for path in holders:
        outline = index.outline(path)
        marks = index.find_uses(path, last).get(last, [])
        own = {symbol.line for symbol in outline.symbols if symbol.short == last}
        own |= {
            symbol.first for symbol in outline.symbols if symbol.short == last and symbol.kind == "variable"
        }
        lines: list[str] | None = None
        for mark in marks:
            line, called = mark >> 1, bool(mark & 1)
            if line in own or (calls and not called):
                continue
            if lines is None:
                lines = index.read_source(path).split("\n")
            code = lines[line - 1].strip() if line <= len(lines) else ""
            yield Use(
                path=path,
                line=line,
                within=find_enclosing_symbol(outline.symbols, line),
                called=called,
                code=code,
            )


def find_enclosing_symbol(symbols: Sequence[Symbol], line: int) -> str:
    """Return the innermost symbol that contains a line, "" for none."""
    inside = [each for each in symbols if each.first <= line <= each.last and each.kind != "variable"]
    return min(inside, key=lambda each: each.last - each.first).name if inside else ""


def find_callees(index: Index, where: FoundDefinition) -> list[CalledName]:
    """Return names that a symbol calls and the workspace defines, in line order."""
    first, last = where.symbol.line, where.symbol.last
    found: dict[str, int] = {}
    for name, marks in index.find_uses(where.path).items():
        lines = [mark >> 1 for mark in marks if mark & 1 and first <= mark >> 1 <= last]
        lines = [line for line in lines if not (line == first and name == where.symbol.short)]
        if lines:
            found[name] = lines[0]
    result = []
    for name, line in sorted(found.items(), key=lambda each: each[1]):
        there = find_definitions(index, name)
        there = [each for each in there if not is_test(each.path)] or there
        if there:
            near = sorted(there, key=lambda each: each.path != where.path)
            result.append(CalledName(name=name, line=line, definitions=tuple(near)))
    return result


def resolve_imports(
    index: Index, path: str, modules: Modules | None = None
) -> list[tuple[int, str, tuple[str, ...]]]:
    """Return the imports of a file: line, module as written, and the workspace's files that it resolves to."""
    modules = modules or Modules(index.code)
    return [
        (
            each.line,
            each.module,
            tuple(to for to in modules.resolve(each.module, each.names, path) if to != path),
        )
        for each in index.outline(path).imports
    ]


def find_importers(index: Index, path: str, modules: Modules | None = None) -> list[str]:
    """Return the files that import a file, sorted."""
    modules = modules or Modules(index.code)
    parts = get_module_parts(path)
    if not parts:
        return []
    words = list(count_words(parts[-1]))
    texts: set[int] | None = None
    for word in words:
        having = {number for number, *_ in index.find_word(word)}
        texts = having if texts is None else texts & having
    near = {each for number in texts or () for each in index.by_text.get(number, ())}
    folder = path.rpartition("/")[0]
    near |= {each for each in index.code if each.rpartition("/")[0] == folder}
    found = []
    for candidate, outline in index.outlines(sorted(near - {path})).items():
        if any(path in modules.resolve(each.module, each.names, candidate) for each in outline.imports):
            found.append(candidate)
    return sorted(found)


def find_files_importing(index: Index, module: str) -> set[str]:
    """Return the files that import a module, or a part of it, from outside the workspace. module: its first part"""
    modules = Modules(index.code)
    words = list(count_words(module))
    near = {
        path
        for word in words
        for number, *_ in index.find_word(word)
        for path in index.by_text.get(number, ())
    }
    return {
        path
        for path, outline in index.outlines(sorted(near)).items()
        for each in outline.imports
        if (each.module == module or each.module.startswith((f"{module}.", f"{module}/")))
        and not modules.resolve(each.module, each.names, path)
    }


def find_similar_files(index: Index, text: str, limit: int = 10) -> list[tuple[str, float]]:
    """Return the files whose words are most similar to a text's, with their scores."""
    words = {word: 1.0 + min(count, 4) * 0.25 for word, count in count_words(text).items()}
    scores = score_texts(index, words)
    files = [(path, score) for number, score in scores.items() for path in index.by_text[number]]
    return sorted(files, key=lambda each: (-each[1], each[0]))[:limit]


def find_impacted_tests(index: Index, changed: Iterable[str], limit: int = 20) -> list[tuple[str, str]]:
    """Return test files that a change of these files may break, the nearest first, with reasons.

    A test recorded as having run the file is nearest (see `find_covering_tests`); one that imports it and uses
    names it defines is nearer than one that does only either.
    """
    from tools.code.index.coverage_contexts import find_covering_tests

    changed = list(changed)
    modules = Modules(index.code)
    scores: dict[str, float] = {}
    why: dict[str, list[str]] = {}

    def add_score(path: str, score: float, reason: str) -> None:
        scores[path] = scores.get(path, 0.0) + score
        there = why.setdefault(path, [])
        if reason not in there:
            there.append(reason)

    ran = find_covering_tests(index.root, changed, [each for each in index.code if is_test(each)])
    for path in changed:
        if is_test(path):
            add_score(path, 100.0, "it was changed")
            continue
        for test in ran.get(path, ()):
            add_score(test, RAN, f"ran {path} when coverage was recorded")
        for importer in find_importers(index, path, modules):
            if is_test(importer):
                add_score(importer, 6.0, f"imports {path}")
        stem = get_module_parts(path)[-1] if get_module_parts(path) else ""
        for symbol in {each.short for each in index.outline(path).symbols if each.kind != "variable"}:
            if symbol.startswith("__") or len(symbol) < 3:
                continue
            holders = index.find_files_with_name(symbol)
            definers = sum(bool(defined) for _, defined, _, _ in holders)
            for holder, _, used, _ in holders:
                if used and is_test(holder) and len(holders) <= 100:
                    add_score(holder, 4.0 / (definers or 1) / len(holders) ** 0.5, f"names {symbol}")
        for test in index.code:
            if stem and is_test(test) and stem in re.split(r"[/_.]", test):
                add_score(test, 2.0, f"is named like {path}")
    best = sorted(scores, key=lambda each: (-scores[each], each))[:limit]
    return [(path, "; ".join(why[path][:3])) for path in best]

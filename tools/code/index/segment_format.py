"""Storage format of facts: compressed JSON for data read per file, packed lists for postings.

A posting counts one term in one text: two unsigned numbers of 32 bits, the text's number and three packed counts.
Words ("queryset") count occurrences in symbols' names, code, and prose; names ("=QuerySet") count definitions, all
uses, and calls.
"""

from __future__ import annotations

import json
import sys
import zlib
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sandbox.lazy_dataclass import dataclass
from tools.code.index.parsing.document_outline import NAMES as DOCUMENTS
from tools.code.index.parsing.file_facts import Facts, Symbol
from tools.code.index.parsing.identifier_words import count_name_words
from tools.code.index.parsing.import_statements import Import

_FAST = 1
"""zlib level: the texts are small and are written more often than read."""

NAME = "="
"""Prefix of a term that is a name, not a word. No word begins with it."""

MOST_FIRST, MOST = 255, 4095
"""Largest counts in a posting: of the first, and of the second and third."""

ENTRY = "#"
"""Prefix of headings and keys of documents: code never refers to them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedText:
    """One text's facts, ready to be stored. counts: words in symbols' names, in code, in prose"""

    blob: int
    facts: bytes
    text_spans: bytes
    counts: tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Several texts' facts and the postings of all their terms, sorted by term."""

    texts: list[PackedText]
    postings: list[tuple[str, bytes]]


def build_segment(read: Iterable[tuple[int, Facts]]) -> Segment:
    """Pack the facts of texts, given with their numbers in rising order."""
    words: defaultdict[str, list[int]] = defaultdict(list)
    names: defaultdict[str, list[int]] = defaultdict(list)
    entries: defaultdict[str, list[int]] = defaultdict(list)
    texts = []
    for blob, facts in read:
        defined = Counter(symbol.short for symbol in facts.symbols)
        named = count_name_words(defined)
        text = blob << _TEXT
        for word, packed in _pack_word_counts(named, facts.code, facts.prose).items():
            words[word].append(packed << _COUNTS | text)
        uses = facts.uses
        for name, (used, called) in uses.items():
            if name not in defined:
                packed = used << 12 | called if used <= MOST else _pack_counts(0, used, called)
                names[name].append(packed << _COUNTS | text)
        others = entries if facts.language in DOCUMENTS else names
        for name, count in defined.items():
            if name in uses:
                names[name].append(_pack_counts(count, *uses[name]) << _COUNTS | text)
            else:  # names that are not identifiers: `empty?`, operators
                others[name].append(_pack_counts(count, count, 0) << _COUNTS | text)
        counts = (sum(named.values()), sum(facts.code.values()), sum(facts.prose.values()))
        said = zlib.compress(array("I", facts.text_spans).tobytes(), _FAST)
        texts.append(PackedText(blob=blob, facts=pack_facts(facts), text_spans=said, counts=counts))
    terms = {**words}
    terms.update((NAME + name, found) for name, found in names.items())
    terms.update((ENTRY + name, found) for name, found in entries.items())
    return Segment(
        texts=texts, postings=[(term, array("Q", terms[term]).tobytes()) for term in sorted(terms)]
    )


_TEXT, _COUNTS = (0, 32) if sys.byteorder == "little" else (32, 0)
"""Shifts of a posting's two 32-bit numbers in one of 64 bits, so that they have this order in memory."""


def _pack_word_counts(
    named: Mapping[str, int], code: Mapping[str, int], prose: Mapping[str, int]
) -> dict[str, int]:
    """Return word → packed counts, of the words that occur in code or prose."""
    found = dict(prose) if max(prose.values(), default=0) <= MOST else _cap_counts(prose)
    there = found.get
    for word, count in code.items() if max(code.values(), default=0) <= MOST else _cap_counts(code).items():
        found[word] = there(word, 0) | count << 12
    for word, count in named.items():
        if word in found:
            found[word] |= min(count, MOST_FIRST) << 24
    return found


def _cap_counts(counts: Mapping[str, int]) -> dict[str, int]:
    return {word: min(count, MOST) for word, count in counts.items()}


def _pack_counts(first: int, second: int, third: int) -> int:
    """Pack three counts into 32 bits, each capped at its maximum."""
    if first > MOST_FIRST or second > MOST or third > MOST:
        first, second, third = min(first, MOST_FIRST), min(second, MOST), min(third, MOST)
    return first << 24 | second << 12 | third


def unpack_postings(data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Yield text number and three counts of each posting."""
    numbers = array("I")
    numbers.frombytes(data)
    for at in range(0, len(numbers), 2):
        packed = numbers[at + 1]
        yield numbers[at], packed >> 24, packed >> 12 & 4095, packed & 4095


def pack_facts(facts: Facts) -> bytes:
    """Pack all facts except names, words and prose ranges."""
    symbols = [
        (each.name, each.kind, each.first, each.line, each.last, each.signature, each.doc)
        for each in facts.symbols
    ]
    imports = [[each.line, each.module, list(each.names)] for each in facts.imports]
    return _compress_json([facts.language, facts.package, facts.lines, symbols, imports])


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The facts of a text that are stored outside the postings, without prose ranges."""

    language: str
    package: str
    lines: int
    symbols: Sequence[Symbol]
    imports: Sequence[Import]


NOTHING = Outline(language="", package="", lines=0, symbols=(), imports=())


def unpack_facts(data: bytes) -> Outline:
    """Reverse `pack_facts`; empty for no bytes (a text that could not be read)."""
    if not data:
        return NOTHING
    language, package, lines, symbols, imports = json.loads(zlib.decompress(data))
    return Outline(
        language=language,
        package=package,
        lines=lines,
        symbols=tuple(
            Symbol(name=name, kind=kind, first=first, line=line, last=last, signature=signature, doc=doc)
            for name, kind, first, line, last, signature, doc in symbols
        ),
        imports=tuple(
            Import(line=line, module=module, names=tuple(names)) for line, module, names in imports
        ),
    )


def unpack_prose_ranges(data: bytes) -> array[int]:
    """Return starts and ends of comments and strings, as in `Facts.said`."""
    said = array("I")
    if data:
        said.frombytes(zlib.decompress(data))
    return said


def _compress_json(value: object) -> bytes:
    return zlib.compress(json.dumps(value, separators=(",", ":")).encode(), _FAST)

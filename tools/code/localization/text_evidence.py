"""Extraction of evidence from a text about a program: words, names, dotted names, paths, stack frames, quotations.

Independent of the program: whether a name exists is checked against the index later.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from enum import Enum

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.code.index.parsing.identifier_words import IDENTIFIER, split_identifier

MAX_TEXT = 60_000
"""Characters of a text that are read; the rest is logs."""

MAX_LINE = 2_000
"""Characters of a line that are read: longer ones are data, and the time for a line grows with its square."""


class Kind(Enum):
    """The kind of a line of the text."""

    TITLE = "title"
    PROSE = "prose"
    CODE = "code"
    TRACE = "trace"


WEIGHTS = {Kind.TITLE: 2.5, Kind.PROSE: 1.0, Kind.CODE: 0.5}
"""Weight of a word by its line: the title states the subject, the rest is often pasted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A place in a stack trace. distance: frames between it and the one that raised the error"""

    path: str
    line: int
    function: str
    distance: int


@dataclass(slots=True, kw_only=True)
class Evidence:
    """Evidence with weights: damped sums over mentions.

    words: word → weight; names: identifier → weight; dotted: "a.b.C.d" → weight
    title: words and names of the first line, in lower case
    paths: path as written → its line number, 0 for none
    quotes: quotations and error messages
    codes: of numbered messages: "E108", "CS0246"
    """

    words: dict[str, float] = field(default_factory=dict)
    names: dict[str, float] = field(default_factory=dict)
    dotted: dict[str, float] = field(default_factory=dict)
    title: set[str] = field(default_factory=set)
    paths: dict[str, int] = field(default_factory=dict)
    frames: list[Frame] = field(default_factory=list)
    quotes: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)


_FRAME = compile_lazily(r'File "([^"\n]+)", line (\d+)(?:, in ([\w<>.]+))?')
_SHORT_FRAME = compile_lazily(
    r"^\s*(?:at\s+)?([\w./\\-]+\.\w{1,4}):(\d+)(?::\d+)?:?(?:\s+in\s+([\w.]+))?", re.MULTILINE
)
_JAVA_FRAME = compile_lazily(r"^\s*at\s+[\w.$]+\.([\w$<>]+)\((\w+\.(?:java|kt|scala)):(\d+)\)", re.MULTILINE)
_NODE_FRAME = compile_lazily(
    r"^\s*at\s+(?:([\w.$<>]+)\s+)?\(?(?:file://)?([\w./\\@-]+\.[cm]?[jt]sx?):(\d+)(?::\d+)?\)?", re.M
)
_PATH = compile_lazily(
    r"(?<![\w.])((?:[\w.-]+[/\\])*[\w-]+\.(?:pyi?|[cm]?[jt]sx?|java|kt|go|rs|cc?|cpp|h|hpp|cs|rb|php|sh))\b"
    r"(?:(?:#L|:|, line )(\d+))?"
)
_DOTTED = compile_lazily(r"(?<![\w/])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_IMPORT = compile_lazily(r"^\W*from\s+([\w.]+)\s+import\s+\(?([\w, ]+)", re.MULTILINE)
_ERROR = compile_lazily(
    r"^\W*(?:[\w.]*\.)?([A-Z]\w*(?:Error|Exception|Warning)):\s+(.{8,300})$", re.MULTILINE
)
_QUOTE = compile_lazily(r"\"([^\"\n]{10,160})\"|'([^'\n]{10,160})'|`([^`\n]{10,160})`|“([^”\n]{10,160})”")
_CODE = compile_lazily(r"(?<![A-Za-z0-9_])[A-Z]{1,6}[-_]?\d{2,6}(?![A-Za-z0-9_])")
_URL = compile_lazily(r"https?://\S+")
_FENCE = compile_lazily(r"^\s*(```|~~~)")
_TRACE_LINE = compile_lazily(r"\s*(Traceback \(most recent|File \"|at [\w.$<>]+\()")
_CODE_LINE = compile_lazily(
    r"\s*(>>>|\.\.\. |In \[\d+\]|Out\[\d+\]|\$ |from [\w.]+ import |import \w|class \w+.*:$|def \w+\(|@\w|"
    r"[\w.\[\]'\"]+(, ?[\w.]+)* ?[-+*/|]?= ?\S|"  # an assignment
    r"[\w.]+\(.*\)\s*(#.*)?$|"  # a call
    r"(return|raise|yield|assert|print|elif|if|for|while|with|try|else|except)\b[^:(]*[:(].*[:)]\s*$|"
    r"['\"\[{(}\])].*[,\])}]\s*$)|"  # an item of a list
    r"(\t|    )\S.*[=(\[{:;]"
)
"""Lines that look like code: on trackers without fences code occurs unmarked between the prose."""

_RAISED = compile_lazily(r"(Error|Exception|Warning)s?$")
"""Exceptions: the fault is seldom where they are defined."""

_REPORTS = """
about actual add added after all also and any are because been before behavior behaviour being bug but call
can case change code com could current currently description did didn does doesn don done example expected
file follow following for from get github got has have here how however html http https instead into isn issue
its just last like line made make more most need new not old one only org other our out problem python recent
reproduce result run running same see seem set should since some step than that the their them then there
these they think this those though traceback tried try two use used user using version want was way what when
where which who why will with without won work would www you your
"""

_NOISE = frozenset(_REPORTS.split())
"""Words of every report."""


def extract_evidence(text: str) -> Evidence:
    """Extract the evidence of a text."""
    text = "\n".join(line[:MAX_LINE] for line in text[:MAX_TEXT].replace("\r\n", "\n").split("\n"))
    found = Evidence()
    found.frames = list(_parse_frames(text))
    lines = list(_classify_lines(text))
    found.title = {
        name.lower() for kind, line in lines if kind is Kind.TITLE for name in IDENTIFIER.findall(line)
    }
    _add_words(found, lines)
    _add_dotted_names(found, lines, text)
    traced = {frame.path for frame in found.frames}
    for match in _PATH.finditer(text):
        path = match[1].replace("\\", "/")
        if not any(frame.endswith(path) for frame in traced):
            found.paths[path] = int(match[2] or 0) or found.paths.get(path, 0)
    for url in _URL.findall(text):
        if place := re.search(r"/(?:blob|tree|src)/[^/]+/([\w./-]+\.\w+)(?:#L(\d+))?", url):
            found.paths[place[1]] = int(place[2] or 0)
    found.quotes = list(dict.fromkeys(_find_quotes(text)))
    found.codes = list(dict.fromkeys(_CODE.findall(_URL.sub(" ", text))))
    return found


def build_code_pattern(codes: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern that matches message codes as whole words."""
    return re.compile("|".join(rf"(?<![A-Za-z0-9_]){re.escape(code)}(?![A-Za-z0-9_])" for code in codes))


def _parse_frames(text: str) -> Iterator[Frame]:
    """Yield the frames of every trace in the text; Python lists the innermost frame last, others first."""
    for trace in re.split(r"(?=Traceback \(most recent call last\))", text):
        python = _FRAME.findall(trace)
        for distance, (path, line, function) in enumerate(reversed(python)):
            yield Frame(path=path.replace("\\", "/"), line=int(line), function=function, distance=distance)
        if not python:
            short = [each for each in _SHORT_FRAME.findall(trace) if each[2]]
            for distance, (path, line, function) in enumerate(reversed(short)):
                yield Frame(
                    path=path.replace("\\", "/"), line=int(line), function=function, distance=distance
                )
    for distance, (function, path, line) in enumerate(_JAVA_FRAME.findall(text)):
        yield Frame(path=path, line=int(line), function=function, distance=distance)
    for distance, (function, path, line) in enumerate(_NODE_FRAME.findall(text)):
        yield Frame(path=path, line=int(line), function=function.rpartition(".")[2], distance=distance)


def _classify_lines(text: str) -> Iterator[tuple[Kind, str]]:
    title_seen, fenced = False, False
    for line in text.split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
            continue
        if not line.strip():
            continue
        if not title_seen:
            title_seen = True
            yield Kind.TITLE, line
        elif _TRACE_LINE.match(line):
            yield Kind.TRACE, line
        elif fenced or _CODE_LINE.match(line):
            yield Kind.CODE, line
        else:
            yield Kind.PROSE, _URL.sub(" ", line)


def _add_words(found: Evidence, lines: list[tuple[Kind, str]]) -> None:
    words: dict[str, float] = {}
    names: dict[str, float] = {}
    for kind, line in lines:
        if kind is Kind.TRACE:  # the frames are stronger evidence than their words
            continue
        quoted = set(IDENTIFIER.findall(" ".join(re.findall(r"`([^`]+)`", line))))
        for match in IDENTIFIER.finditer(line):
            name = match[0]
            for part in split_identifier(name):
                if part not in _NOISE and len(part) > 2:
                    words[part] = words.get(part, 0.0) + WEIGHTS[kind]
            form = _weigh_name(name, line[match.end() : match.end() + 1], name in quoted, kind)
            if form and name.lower() not in _NOISE:
                form *= 0.3 if _RAISED.search(name) else 1.0
                names[name] = max(names.get(name, 0.0), form * (1.5 if kind is Kind.TITLE else 1.0)) + 0.05
    found.words = {word: 1 + math.log(weight) if weight > 1 else weight for word, weight in words.items()}
    found.names = names


def _weigh_name(name: str, after: str, quoted: bool, kind: Kind) -> float:
    """Return how much a word looks like an identifier, from 0 to 1."""
    if len(name) < 3:
        return 0.0
    weight = 0.15
    if "_" in name.strip("_") or re.search(r"[a-z0-9][A-Z]", name) or re.match(r"[A-Z]{2,}[a-z]", name):
        weight = 1.0
    elif quoted or after == "(":
        weight = 0.8
    elif name[0] == "_" or (name[0].isupper() and kind is not Kind.TITLE):
        weight = 0.3
    return weight * (0.6 if kind is Kind.CODE else 1.0)


def _add_dotted_names(found: Evidence, lines: list[tuple[Kind, str]], text: str) -> None:
    for kind, line in lines:
        for name in _DOTTED.findall(line):
            if not _PATH.fullmatch(name):
                weight = (0.5 if kind is Kind.CODE else 1.0) * (0.2 if _RAISED.search(name) else 1.0)
                found.dotted[name] = max(found.dotted.get(name, 0.0), weight)
    for module, names in _IMPORT.findall(text):
        for name in names.split(","):
            if name.split():
                whole = f"{module}.{name.split()[0]}"
                found.dotted[whole] = max(found.dotted.get(whole, 0.0), 0.5)


def _find_quotes(text: str) -> Iterator[str]:
    for _, message in _ERROR.findall(text):
        yield message.strip()
    for groups in _QUOTE.findall(text):
        quote = next(each for each in groups if each)
        if len(quote.split()) >= 3:
            yield quote.strip()

"""What request a change would answer, beside the one it was given: named and not touched, touched and not asked for.

Definitions that changed are connected where one mentions the other; what is connected with nothing of the prompt's
words was not asked for. A prompt seldom names all that it needs, so that this is told, and decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import field
from pathlib import PurePosixPath

from packages.search.requirements.change.code_content import is_beside_code, reduce_code
from packages.search.requirements.change.loose_ends import list_loose_ends
from packages.search.requirements.definition_text import read_signatures
from packages.search.requirements.turn_changes import TurnChanges
from packages.search.requirements.wording import BARE_NAME, QUOTED
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.shell.parsing.syntax import parse_word_set
from tools.code.index.parsing.file_facts import Symbol, detect_language, extract_facts
from tools.code.index.parsing.identifier_words import IDENTIFIER, count_words, split_identifier
from tools.core.text import join_names

MOST_FILES, LARGEST = 40, 300_000
"""Files of a change that is read, and characters of each: a larger change is no answer to a few words."""

MOST_NAMED = 4
FEWEST_WORDS, FEW_STEMS = 3, 4
"""Words of a prompt that say something: of fewer, none need be in the change; up to the second, one alone is enough."""

_ADDRESS = compile_lazily(
    r"https?://\S+|^(?:refs?|see|see also)[: ]+\S*[#/]\S*.*$|\(#\d+\)", re.IGNORECASE | re.MULTILINE
)

_NAMED = compile_lazily(rf"{QUOTED}|{BARE_NAME}")
_REMOVES = compile_lazily(
    r"\b(?:remov\w*|delet\w*|drop\w*|renam\w*|mov(?:e|es|ed|ing)|merg\w*|replac\w*|split\w*|refactor\w*|rewrit\w*|simplif\w*"
    r"|clean\w*|inlin\w*|extract\w*|reorgani\w*|restructur\w*|migrat\w*|port\w*|convert\w*|unif\w*|deprecat\w*|private)\b",
    re.IGNORECASE,
)
_COMMON = parse_word_set(
    "a an and are as at be by can do does for from get has have if in into is it its must name new no not of on one"
    " or set should so than that the their them then there they this to up use used using value was when where"
    " which will with without add added change changed fix fixed make made update updated bug error issue test"
    " tests code file files function functions method methods class classes return returns self true false none"
    " null def import let const var func type types string int list dict object data run call called case work"
    " see now also only all any some more after before line http https com github co authored support allow"
    " refs ref close closes closed fixes"
)


@dataclass(slots=True, kw_only=True)
class Unit:
    """A changed definition, or what changed of a file outside of any.

    before, after: its source, None where there is none; lines: those that changed
    """

    path: str
    name: str
    before: str | None
    after: str | None
    lines: str
    old: Symbol | None = None
    new: Symbol | None = None
    words: frozenset[str] = field(init=False)
    names: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.names = frozenset(IDENTIFIER.findall(self.lines))
        self.words = frozenset(count_words(f"{self.name} {self.lines}")) - _COMMON

    @property
    def file(self) -> str:
        """The path below the package, whose name says nothing of one of its files."""
        parts = PurePosixPath(self.path).parts
        return "/".join(parts[2:] if parts[0] in ("src", "lib") and len(parts) > 2 else parts[1:] or parts)

    @property
    def short(self) -> str:
        """The last part of its name."""
        return self.name.rpartition(".")[2]

    @property
    def place(self) -> str:
        """The name with its file, for a person."""
        return f"{self.name} ({self.path})" if self.name else self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Departures:
    """What a change lacks of a prompt, and has beside it: sentences for a person."""

    lacking: Sequence[str] = ()
    beside: Sequence[str] = ()


def find_departures(prompt: str, changes: TurnChanges) -> Departures:
    """Compare the words and names of a prompt with what changed; nothing is said of a change that is no code."""
    from tools.lint.honesty.file_changes import find_role

    paths = changes.list_changed_files()
    product = [each for each in paths if find_role(each) == "product"]
    if not paths or len(paths) > MOST_FILES:
        return Departures()
    if not product:
        return Departures(lacking=_judge_without_product(prompt, paths))
    units = [unit for path in product for unit in list_units(path, changes)]
    if not units:
        return Departures(lacking=["only comments, docstrings or layout were changed"])
    named = {
        match.strip("`").partition("(")[0].rpartition(".")[2] for match in _NAMED.findall(prompt)
    } - _COMMON
    asked = _find_asked(prompt, named, units)
    lacking = list(_list_untouched(prompt, named, product, units, changes))
    texts = {path: (changes.read_before(path) or "", changes.read_after(path) or "") for path in product}
    lacking += list(list_loose_ends(texts))[:MOST_NAMED]
    if not asked:
        if _says_much(prompt) and not _is_of_setup(prompt, paths, changes):
            lacking.append("nothing that the prompt speaks of is in what was changed")
        return Departures(lacking=lacking)
    beside = list(_list_lost(prompt, named, units, changes))
    rest = [each for each in _spread(asked, units) if each.name or len(product) > 1]
    if rest:
        beside.append(f"changed, and not asked for: {join_names([each.place for each in rest], MOST_NAMED)}")
    return Departures(lacking=lacking, beside=beside)


def _says_much(prompt: str) -> bool:
    return len(_count_prompt_words(prompt)) >= FEWEST_WORDS


def _is_of_setup(prompt: str, paths: Sequence[str], changes: TurnChanges) -> bool:
    """Return whether the prompt speaks of a file beside the product, such as a version or a dependency."""
    from tools.lint.honesty.file_changes import find_role

    words = frozenset(count_words(prompt)) - _COMMON
    others = [each for each in paths if find_role(each) in ("setup", "other") and not is_beside_code(each)]
    return any(words & set(count_words(changes.read_after(each) or "")) for each in others)


def _judge_without_product(prompt: str, paths: Sequence[str]) -> list[str]:
    from agent.prompt.prompt_reader import read_intent
    from tools.lint.honesty.file_changes import find_role

    if read_intent(prompt).kind not in ("repair", "change") or not all(
        find_role(each) in ("test", "expected") or is_beside_code(each) for each in paths
    ):
        return []
    if re.search(
        r"\b(?:tests?|testing|coverage|flaky|fixtures?|docs?|readme|changelog)\b", prompt, re.IGNORECASE
    ):
        return []
    has_tests = any(find_role(each) in ("test", "expected") for each in paths)
    return ["only tests were changed"] if has_tests else []


def list_units(path: str, changes: TurnChanges) -> Iterator[Unit]:
    """Yield the definitions of a file that a change touches, and what it changes outside of any."""
    before, after = changes.read_before(path) or "", changes.read_after(path) or ""
    if max(len(before), len(after)) > LARGEST or reduce_code(path, before) == reduce_code(path, after):
        return
    from sandbox.fs.line_diff import compute_opcodes

    old_lines, new_lines = before.split("\n"), after.split("\n")
    old, new = _find_owners(path, before), _find_owners(path, after)
    changed: dict[str, list[str]] = {}
    for kind, i1, i2, j1, j2 in compute_opcodes(old_lines, new_lines):
        if kind == "equal":
            continue
        for lines, owners, first, last in ((old_lines, old, i1, i2), (new_lines, new, j1, j2)):
            for number in range(first, last):
                if lines[number].strip():
                    owner = owners.get(number + 1)
                    changed.setdefault(owner.name if owner is not None else "", []).append(lines[number])
    symbols_before = {each.name: each for each in old.values()}
    symbols_after = {each.name: each for each in new.values()}
    for name, lines in changed.items():
        was, now = symbols_before.get(name), symbols_after.get(name)
        yield Unit(
            path=path,
            name=name,
            before="\n".join(old_lines[was.first - 1 : was.last]) if was is not None else None,
            after="\n".join(new_lines[now.first - 1 : now.last]) if now is not None else None,
            lines="\n".join(lines),
            old=was,
            new=now,
        )


def _find_owners(path: str, text: str) -> dict[int, Symbol]:
    """Return the innermost definition of each line."""
    language = detect_language(path)
    facts = extract_facts(language, text) if language is not None else None
    found: dict[int, Symbol] = {}
    for each in sorted(facts.symbols if facts is not None else (), key=lambda one: one.first - one.last):
        found.update(dict.fromkeys(range(each.first, each.last + 1), each))
    return found


def _find_asked(prompt: str, named: set[str], units: Sequence[Unit]) -> list[Unit]:
    """Return the units that a prompt names, or shares words with that say something.

    One word is enough where a name or a file has it, or where the prompt says little; else two are needed. Where a
    definition is named, the file says nothing of the others in it.
    """
    stems = _list_stems(_count_prompt_words(prompt))
    is_named = any(each.short in named for each in units)

    def shares(unit: Unit) -> bool:
        titles = unit.name if is_named else f"{unit.name} {unit.file}"
        if not is_named and _list_stems(frozenset(count_words(titles)) - _COMMON) & stems:
            return True
        shared = _list_stems(unit.words) & stems
        return len(shared) > (1 if is_named or len(stems) > FEW_STEMS else 0)

    return [each for each in units if named & (each.names | {each.short}) or shares(each)]


def _count_prompt_words(prompt: str) -> frozenset[str]:
    """Return the words of a prompt that say something: not those of addresses, and of lines that refer to others."""
    return frozenset(count_words(_ADDRESS.sub(" ", prompt))) - _COMMON


def _list_stems(words: Collection[str]) -> set[str]:
    return {each[:6] for each in words if len(each) > 2}


def _spread(asked: Sequence[Unit], units: Sequence[Unit]) -> list[Unit]:
    """Return the units that no asked one is connected with, by a name that one of them defines or both mention."""
    reached = list(asked)
    rest = [each for each in units if each not in reached]
    while found := [each for each in rest if any(_is_connected(each, other) for other in reached)]:
        reached += found
        rest = [each for each in rest if each not in found]
    return rest


def _is_connected(one: Unit, other: Unit) -> bool:
    if not one.name or not other.name:  # imports and constants serve whatever uses them
        return bool(one.path == other.path or one.names & other.names)
    if one.name.rpartition(".")[0] == other.name.rpartition(".")[0] != "":
        return True
    shared = {each for each in one.names & other.names if len(split_identifier(each)) > 1}
    return one.short in other.names or other.short in one.names or bool(shared)


def _list_untouched(
    prompt: str, named: set[str], product: Sequence[str], units: Sequence[Unit], changes: TurnChanges
) -> Iterator[str]:
    """Yield the definitions of changed files that an order names, and that no change touches or mentions."""
    if not named:
        return
    title = prompt.strip().partition("\n")[0]
    touched = {name for each in units for name in (*each.names, *each.name.split("."))}
    defined = {
        symbol.short
        for path in product
        for symbol in _find_owners(path, changes.read_before(path) or "").values()
    }
    for name in sorted((named & defined) - touched):
        word = re.escape(name)
        is_sketched = re.search(rf"^\s*(?:async\s+)?def\s+{word}\(", prompt, re.MULTILINE)
        if is_sketched or re.search(rf"(?<!\w){word}(?!\w)", title):
            yield f"{name} was not changed, which the prompt names"


def _list_lost(prompt: str, named: set[str], units: Sequence[Unit], changes: TurnChanges) -> Iterator[str]:
    """Yield public definitions that are gone or take other arguments, and of which the prompt says nothing."""
    words = {each[:6] for each in count_words(prompt)}
    for each in units:
        if not each.name or each.name.startswith("_") or "._" in each.name or each.short in named:
            continue
        if (
            each.old is None
            or each.old.kind in ("variable", "constant", "field", "module")
            or len(each.short) < 2
        ):
            continue
        if set(split_identifier(each.short)) - _COMMON and all(
            word[:6] in words for word in split_identifier(each.short)
        ):
            continue
        if each.new is None:
            moved = any(other.short == each.short and other.new is not None for other in units)
            if not moved and not _REMOVES.search(prompt):
                yield f"removed, and not asked for: {each.place}"
        elif _takes_less(each, changes):
            yield f"takes other arguments, and was not asked for: {each.place}"


def _takes_less(unit: Unit, changes: TurnChanges) -> bool:
    """Return whether a parameter is gone: by its name in Python, by their number elsewhere."""
    assert unit.old is not None
    assert unit.new is not None
    if unit.path.endswith((".py", ".pyi")):
        old, new = (
            {
                name
                for each in read_signatures(unit.path, text, unit.name)
                for name in IDENTIFIER.findall(each)
            }
            for text in (changes.read_before(unit.path), changes.read_after(unit.path))
        )
        return bool(old - new)
    before, after = unit.old.signature, unit.new.signature
    return "(" in before and before.count(",") > after.count(",") and ")" in after

"""Features of each file from the evidence of a text: values between 0 and 1, each with its reason."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import field

from sandbox.lazy_dataclass import dataclass
from tools.code.index.bm25 import score_texts
from tools.code.index.code_index import Index
from tools.code.index.module_resolution import get_module_parts
from tools.code.index.parsing.identifier_words import count_words, split_identifier
from tools.code.index.symbol_queries import FoundDefinition, find_definitions, is_test
from tools.code.localization.text_evidence import Evidence

MOST_DEFINERS = 60
"""Above this number of defining files a name is no evidence."""

MOST_QUOTED = 40
"""Files in which a quotation is searched."""


@dataclass(slots=True)
class Features:
    """Feature name → value, and reasons for the user."""

    values: dict[str, float] = field(default_factory=dict)
    reasons: list[tuple[float, str]] = field(default_factory=list)


class FeatureTable:
    """Features of files, collected incrementally."""

    def __init__(self) -> None:
        self.files: dict[str, Features] = {}

    def add(self, path: str, feature: str, value: float, reason: str = "") -> None:
        there = self.files.setdefault(path, Features())
        there.values[feature] = there.values.get(feature, 0.0) + value
        if reason:
            there.reasons.append((value, reason))

    def raise_to(self, path: str, feature: str, value: float, reason: str = "") -> None:
        there = self.files.setdefault(path, Features())
        if value > there.values.get(feature, 0.0):
            there.values[feature] = value
            if reason:
                there.reasons.append((value, reason))

    def normalize_feature(self, feature: str, by: Callable[[float], float] = lambda value: value) -> None:
        """Divide by the largest value."""
        most = max((by(each.values.get(feature, 0.0)) for each in self.files.values()), default=0.0)
        if most > 0:
            for each in self.files.values():
                if feature in each.values:
                    each.values[feature] = by(each.values[feature]) / most


def gather_features(index: Index, evidence: Evidence) -> FeatureTable:
    """Collect all features except those that depend on the others' result."""
    gathered = FeatureTable()
    _add_lexical_features(index, evidence, gathered)
    _add_name_features(index, evidence, gathered)
    _add_dotted_features(index, evidence, gathered)
    _add_path_features(index, evidence, gathered)
    _add_quote_features(index, evidence, gathered)
    return gathered


def _add_lexical_features(index: Index, evidence: Evidence, gathered: FeatureTable) -> None:
    scores = score_texts(index, evidence.words, index.code_by_text)
    best = sorted(scores, key=lambda number: -scores[number])[:400]
    most = scores[best[0]] if best else 1.0
    for number in best:
        for path in index.code_by_text[number]:
            gathered.add(path, "words", scores[number] / most)
    total = len(index.code)
    having: dict[str, list[str]] = {}
    for path in index.code:
        for word in {word for part in get_module_parts(path)[-2:] for word in split_identifier(part)}:
            having.setdefault(word, []).append(path)
    for word, weight in evidence.words.items():
        there = having.get(word, ())
        if there and len(there) < 0.1 * total + 10:
            value = weight * math.log(1 + total / len(there))
            for path in there:
                own = split_identifier(get_module_parts(path)[-1])
                gathered.add(
                    path,
                    "path",
                    value if word in own else value / 2,
                    f"its path says {word!r}" if word in own else "",
                )
    gathered.normalize_feature("path")
    _add_stem_features(index, evidence, gathered)


def _add_stem_features(index: Index, evidence: Evidence, gathered: FeatureTable) -> None:
    """Add files whose whole name the text mentions, as `inspectdb` or "model checks"."""
    by_stem: dict[str, list[str]] = {}
    for path in index.code:
        if module := get_module_parts(path):
            by_stem.setdefault(module[-1].strip("_").lower(), []).append(path)
    said = {name.lower().strip("_"): weight for name, weight in evidence.names.items()}
    for stem, paths in by_stem.items():
        outside = [path for path in paths if not is_test(path)]
        if not 0 < len(outside) <= 12:
            continue
        own = split_identifier(stem)
        value = 0.0
        if stem in evidence.title or (len(own) > 1 and all(word in evidence.title for word in own)):
            value = 1.0
        elif stem in said:
            value = min(1.0, 0.4 + said[stem] / 2)
        elif len(own) > 1 and all(word in evidence.words for word in own):
            value = 0.4
        for path in outside if value else ():
            gathered.raise_to(path, "stem", value / len(outside) ** 0.5, f"the text says {stem!r}")


def _add_name_features(index: Index, evidence: Evidence, gathered: FeatureTable) -> None:
    total = len(index.code) + 1
    for name, weight in evidence.names.items():
        holders = index.find_files_with_name(name)
        if not holders:
            continue
        definers = [path for path, defined, _, _ in holders if defined]
        outside = [path for path in definers if not is_test(path)]
        if 0 < len(outside) <= MOST_DEFINERS:
            value = weight * math.log(total / len(outside)) / math.log(total)
            kinds = _weigh_kinds(index, name, outside) if weight >= 0.3 else {}
            for path in outside:
                strength = value * kinds.get(path, 0.7) / math.sqrt(len(outside))
                gathered.add(path, "defines", strength, f"defines {name}" if weight > 0.3 else "")
                if name.lower() in evidence.title:
                    gathered.add(path, "titled", strength)
        if weight >= 0.3:
            users = [path for path, _, _, _ in holders if not is_test(path)]
            rarity = math.log(total / (1 + len(users))) / math.log(total)
            if users and len(users) < 0.05 * total + 5:
                for path in users:
                    gathered.add(
                        path, "uses", weight * max(rarity, 0.0) / math.sqrt(len(users)), f"uses {name}"
                    )
    gathered.normalize_feature("defines", math.sqrt)
    gathered.normalize_feature("uses", math.sqrt)
    gathered.normalize_feature("titled", math.sqrt)


def _weigh_kinds(index: Index, name: str, paths: Iterable[str]) -> dict[str, float]:
    """Weigh definitions: a class is stronger evidence for a file than a method, a method than a variable."""
    best: dict[str, float] = {}
    for path, outline in index.outlines(list(paths)).items():
        for symbol in outline.symbols:
            if symbol.short == name:
                value = 0.5 if symbol.kind == "variable" else 0.8 if symbol.kind == "method" else 1.0
                best[path] = max(best.get(path, 0.0), value)
    return best


def _add_dotted_features(index: Index, evidence: Evidence, gathered: FeatureTable) -> None:
    by_end: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for path in index.code:
        if module := get_module_parts(path):
            by_end.setdefault(module[-1], []).append((module, path))
    many = max(1.0, math.sqrt(len(evidence.dotted) / 4))
    for name, weight in evidence.dotted.items():
        weight /= many
        segments = tuple(name.split("."))
        if not _add_module_features(index, segments, by_end, weight, gathered):
            for found in _find_members(index, segments):
                gathered.raise_to(found.path, "dotted", weight * 0.9, f"defines {found.symbol.name}")


def _add_module_features(
    index: Index,
    segments: tuple[str, ...],
    by_end: dict[str, list[tuple[tuple[str, ...], str]]],
    weight: float,
    gathered: FeatureTable,
) -> bool:
    """Add `a.b.C.d` where a/b is a module: the file, or the file of the package that defines C."""
    total = len(index.code)
    for length in range(len(segments), 1, -1):
        front, rest = segments[:length], segments[length:]
        paths = [
            path
            for module, path in by_end.get(front[-1], ())
            if module[-length:] == front and not is_test(path)
        ]
        if not paths:
            continue
        # A module imported everywhere is weak evidence: samples in reports begin by importing it.
        users = len(index.find_files_with_name(front[-1]))
        weight *= max(0.25, math.log((total + 1) / (1 + users)) / math.log(total + 1))
        for path in paths[:4]:
            package = path.rpartition("/")[2].split(".")[0] in ("__init__", "index", "mod")
            own = {symbol.short for symbol in index.outline(path).symbols}
            if rest and rest[0] in own:
                gathered.raise_to(path, "dotted", weight, f"is {'.'.join(front)}, defines {rest[0]}")
            elif not package:
                gathered.raise_to(
                    path, "dotted", weight * (0.9 if not rest else 0.7), f"is {'.'.join(front)}"
                )
            elif rest:
                folder = path.rpartition("/")[0] + "/"
                inside = [
                    each for each in find_definitions(index, ".".join(rest)) if each.path.startswith(folder)
                ]
                inside = inside or [
                    each for each in find_definitions(index, rest[0]) if each.path.startswith(folder)
                ]
                for found in inside[:5]:
                    gathered.raise_to(
                        found.path, "dotted", weight / min(len(inside), 5), f"defines {found.symbol.name}"
                    )
            else:
                gathered.raise_to(path, "dotted", weight * 0.2)
        return True
    return False


def _find_members(index: Index, segments: tuple[str, ...]) -> list[FoundDefinition]:
    """Return definitions of `Class.member` in the workspace, by the last two parts."""
    found = [
        each
        for each in find_definitions(index, ".".join(segments[-2:]))
        if not is_test(each.path) and "." in each.symbol.name
    ]
    return found if len(found) <= 4 else []


def _add_path_features(index: Index, evidence: Evidence, gathered: FeatureTable) -> None:
    by_name: dict[str, list[str]] = {}
    for path in index.code:
        by_name.setdefault(path.rpartition("/")[2], []).append(path)
    for written in evidence.paths:
        for path, value in _match_paths(written, by_name):
            gathered.raise_to(path, "mentioned", value, f"the text names {written}")
    seen: dict[str, float] = {}
    for frame in evidence.frames:
        for path, value in _match_paths(frame.path, by_name):
            seen[path] = max(seen.get(path, 0.0), value * max(0.25, 1.0 - 0.2 * frame.distance))
    for path, value in seen.items():
        gathered.raise_to(path, "frame", value, "it is in the stack trace")


def _match_paths(written: str, by_name: dict[str, list[str]]) -> list[tuple[str, float]]:
    """Return the files that a path may mean: one path is a suffix of the other, by whole names."""
    wanted = written.strip("./").split("/")
    found = []
    for path in by_name.get(wanted[-1], ()):
        own = path.split("/")
        common = 0
        while common < min(len(own), len(wanted)) and own[-1 - common] == wanted[-1 - common]:
            common += 1
        if common == len(own) or common == len(wanted):
            found.append((path, common))
    if not found:
        return []
    most = max(common for _, common in found)
    best = [path for path, common in found if common == most]
    return [(path, 1.0 / len(best)) for path in best] if len(best) <= 5 else []


def _add_quote_features(index: Index, evidence: Evidence, gathered: FeatureTable) -> None:
    """Add files that contain a message printed by the program, with gaps for formatted values."""
    for quote in evidence.quotes[:20]:
        pieces = [each.strip() for each in re.split(r"['\"`<>{}()\[\]%]|\b\w*\d\w*\b|\b\w*[_.]\w+\b", quote)]
        pieces = [each for each in pieces if len(each.split()) >= 2 and len(each) >= 8]
        for piece in sorted(pieces, key=len, reverse=True)[:2]:
            texts: set[int] | None = None
            for word in count_words(piece):
                there = {number for number, _, _, prose in index.find_word(word) if prose}
                texts = there if texts is None else texts & there
            holders = [
                path
                for number in texts or ()
                for path in index.code_by_text.get(number, ())
                if not is_test(path)
            ]
            if not 0 < len(holders) <= MOST_QUOTED:
                continue
            plain = " ".join(piece.lower().split())
            having = [
                path
                for path in holders
                if plain in re.sub(r"[\s'\"\\]+", " ", index.read_source(path).lower())
            ]
            for path in having:
                gathered.raise_to(path, "quoted", 1.0 / math.sqrt(len(having)), f"holds the words {piece!r}")

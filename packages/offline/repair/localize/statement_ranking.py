"""Fault localization: statements that failing tests run and passing ones don't (Ochiai and DStar), plus tracebacks."""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from packages.offline.repair.localize.coverage_spectrum import Spectrum, Test
from packages.offline.repair.localize.suspicious_place import SuspiciousPlace
from packages.offline.repair.templates import Source
from packages.offline.repair.templates.support.source_tree import list_header_nodes
from sandbox.lazy_dataclass import dataclass

# A traceback names the place of the error, but the cause is often in a caller: enough to order statements
# that coverage cannot distinguish, not enough to overrule it.
DEEPEST_FRAME, OTHER_FRAME = 0.25, 0.1
# Defaults and module constants run at import, before any test; they are ranked behind the statements that use
# them.
INDIRECT = 0.7
# A constant may be computed from another one.
LEVELS = 2
# Code that ran during imports belongs to no single test, and its results may be stored, so that a change
# takes effect only in a new session, at the cost of hundreds of other candidates.
IMPORTED = 0.7
# A constant of this name may belong to another module.
OTHER_FILE = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect(SuspiciousPlace):
    """A statement of Python."""

    statement: ast.stmt


def rank_statements(
    sources: Mapping[str, Source], failing: Sequence[Test], spectrum: Spectrum
) -> list[Suspect]:
    """Return statements that the failing tests run, most suspicious first; ties in order of place."""
    passing = spectrum.select_tests("passed")
    suspects: list[Suspect] = []
    for path, source in sources.items():
        table = index_statement_lines(source)
        ef, ep = _count_covering_tests(failing, path, table), _count_covering_tests(passing, path, table)
        frames = _compute_frame_bonus(failing, path, table)
        imported = spectrum.imported.get(path, frozenset())
        scores: dict[ast.stmt, float] = {}
        for statement, hits in ef.items():
            scores[statement] = compute_suspiciousness(hits, ep[statement], len(failing)) + frames.get(
                statement, 0.0
            ) / len(failing)
            if not imported.isdisjoint(get_own_lines(statement)):
                scores[statement] *= IMPORTED
        suspects += [
            _build_suspect(source, each, score, ef[each], ep[each]) for each, score in scores.items()
        ]
    suspects += _iter_indirect_suspects(sources, suspects)
    return sorted(suspects, key=lambda each: (-each.score, each.path, each.line, each.statement.col_offset))


def compute_suspiciousness(failing: int, passing: int, all_failing: int) -> float:
    """Return from 0 to 1 the mean of Ochiai and DStar (Wong 2014) for a statement that so many tests run.

    DStar, d = failing² / (passing + failing tests that do not run it), has no bound; as √(d / (1 + d)) it
    equals Ochiai where one test fails, so that the two differ only where several do.
    """
    ochiai = failing / math.sqrt(all_failing * (failing + passing))
    dstar = failing / math.sqrt(failing**2 + passing + all_failing - failing)
    return (ochiai + dstar) / 2


def create_suspect(source: Source, statement: ast.stmt, score: float) -> Suspect:
    """Return a suspect for a statement with other evidence than coverage."""
    return _build_suspect(source, statement, score, 1, 0)


Table = Mapping[int, Sequence[ast.stmt]]


def index_statement_lines(source: Source) -> Table:
    """Return line → statements whose own text (of a compound statement: its header) is in that line."""
    table: dict[int, list[ast.stmt]] = {}
    for statement in source.statements:
        for line in get_own_lines(statement):
            table.setdefault(line, []).append(statement)
    return table


def select_covering_tests(tests: Iterable[Test], path: str, lines: Iterable[int]) -> list[Test]:
    """Return tests that run any of the lines."""
    wanted = frozenset(lines)
    return [test for test in tests if not wanted.isdisjoint(test.lines.get(path, frozenset()))]


def get_own_lines(statement: ast.stmt) -> range:
    return range(statement.lineno, _find_last_own_line(statement) + 1)


def _find_last_own_line(statement: ast.stmt) -> int:
    body = getattr(statement, "body", None) or getattr(statement, "cases", None)
    if not isinstance(body, list):
        return statement.end_lineno or statement.lineno
    first = body[0]
    start: int = first.pattern.lineno if isinstance(first, ast.match_case) else first.lineno
    return max(statement.lineno, start - 1)


def _count_covering_tests(tests: Iterable[Test], path: str, table: Table) -> Counter[ast.stmt]:
    counts: Counter[ast.stmt] = Counter()
    for test in tests:
        counts.update({each for line in test.lines.get(path, ()) for each in table.get(line, ())})
    return counts


def _iter_indirect_suspects(sources: Mapping[str, Source], suspects: Sequence[Suspect]) -> Iterator[Suspect]:
    """Yield statements that ran at import and whose values suspicious ones use, with the maximum of their scores."""
    constants: dict[str, list[tuple[Source, ast.stmt]]] = {}
    for source in sources.values():
        for name, statement in source.constants:
            constants.setdefault(name, []).append((source, statement))
    known = {each.statement for each in suspects}
    scores: dict[ast.stmt, tuple[Source, float]] = {}
    todo = [(sources[each.path], each.statement, each.score) for each in suspects]
    for _ in range(LEVELS):
        found: dict[ast.stmt, tuple[Source, float]] = {}
        for here, statement, base in todo:
            for source, behind in _iter_value_sources(here, statement, constants):
                score = base * INDIRECT * (1.0 if source is here else OTHER_FILE)
                if behind not in known and score > scores.get(behind, (source, 0.0))[1]:
                    found[behind] = scores[behind] = source, score
        todo = [(source, statement, score) for statement, (source, score) in found.items()]
    for statement, (source, score) in scores.items():
        yield _build_suspect(source, statement, score, 0, 0)


def _iter_value_sources(
    source: Source, statement: ast.stmt, constants: Mapping[str, Sequence[tuple[Source, ast.stmt]]]
) -> Iterator[tuple[Source, ast.stmt]]:
    """Yield defaults of the function, and constants of modules and classes by the name under which they are read."""
    function = source.find_enclosing_function(statement)
    if function and (function.args.defaults or any(function.args.kw_defaults)):
        yield source, function
    for node in list_header_nodes(statement):
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        found = constants.get(name, ())
        here = [each for each in found if each[0] is source]
        yield from here or found


def _compute_frame_bonus(failing: Iterable[Test], path: str, table: Table) -> dict[ast.stmt, float]:
    bonus: dict[ast.stmt, float] = {}
    for test in failing:
        inside = [frame for frame in test.frames if frame.path != test.file]
        found: dict[ast.stmt, float] = {}
        for depth, frame in enumerate(inside):
            value = DEEPEST_FRAME if depth == len(inside) - 1 else OTHER_FRAME
            if frame.path == path:
                found.update(dict.fromkeys(table.get(frame.line, ()), value))
        for statement, value in found.items():
            bonus[statement] = bonus.get(statement, 0.0) + value
    return bonus


def _build_suspect(source: Source, statement: ast.stmt, score: float, failing: int, passing: int) -> Suspect:
    function = source.find_enclosing_function(statement)
    owner = source.find_enclosing_class(function) if function else None
    name = f"{owner.name}.{function.name}" if owner and function else function.name if function else ""
    return Suspect(
        path=source.path,
        line=statement.lineno,
        end_line=_find_last_own_line(statement),
        function=name,
        code=source.get_text(statement).split("\n")[0].strip(),
        score=round(score, 4),
        failing=failing,
        passing=passing,
        statement=statement,
    )


def reweigh_suspects(suspects: Sequence[Suspect], factors: Sequence[float]) -> list[Suspect]:
    """Return the suspects in the order of their scores times these factors."""
    raised = [each.score * by for each, by in zip(suspects, factors, strict=True)]
    # The highest score is unchanged: one above 1 would mean nothing to a reader.
    scale = max((each.score for each in suspects), default=0.0) / (max(raised, default=0.0) or 1.0)
    found = [
        replace(each, score=round(score * scale, 4)) for each, score in zip(suspects, raised, strict=True)
    ]
    return sorted(found, key=lambda each: -each.score)

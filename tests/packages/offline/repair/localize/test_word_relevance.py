"""What words tell about statements that the same tests run, and what their number says of a fix."""

from __future__ import annotations

from dataclasses import replace

from packages.offline.repair.engine.candidates.candidate_generation import (
    MANY_STATEMENTS,
    generate_candidates,
)
from packages.offline.repair.engine.candidates.ranking import (
    NOWHERE,
    SHARED,
    PlausiblePatch,
    compute_confidence,
)
from packages.offline.repair.localize.coverage_spectrum import Spectrum, Test
from packages.offline.repair.localize.statement_ranking import Suspect, rank_statements
from packages.offline.repair.localize.word_relevance import collect_test_words, rerank_by_words
from packages.offline.repair.templates import Hints, Source

TEXT = """\
def load(path):
    return path.strip()


def parse(text):
    return text.split("AS")


def render(tree):
    return tree.upper()
"""
SOURCES = {"a.py": Source("a.py", TEXT)}
FAILING = Test(
    index=0, id="t.py::test_all", file="t.py", standing="failed", lines={"a.py": frozenset({2, 6, 10})}
)  # fmt: skip


def ranked(test: Test = FAILING) -> list[Suspect]:
    return rank_statements(SOURCES, [test], Spectrum(tests=[test], imported={}, complete=True))


def test_of_statements_that_the_same_tests_run_those_that_share_their_words_come_first() -> None:
    assert [each.line for each in ranked()] == [2, 6, 10]
    files = {"t.py": "def test_all():\n    assert tool.parse('create as select') == []\n"}
    found = rerank_by_words(ranked(), collect_test_words([FAILING], files))
    assert [each.line for each in found] == [6, 2, 10]
    assert found[0].score == ranked()[0].score > found[1].score


def test_the_name_of_a_test_and_what_it_said_count_where_its_file_cannot_be_read() -> None:
    named = replace(FAILING, id="t.py::test_render_tree")
    assert rerank_by_words(ranked(named), collect_test_words([named], {}))[0].function == "render"
    said = replace(FAILING, message="no such path")
    assert (
        rerank_by_words(ranked(said), collect_test_words([said], {"t.py": "def broken(:"}))[0].function
        == "load"
    )


def test_without_words_in_common_coverage_alone_decides() -> None:
    assert (
        rerank_by_words(ranked(), collect_test_words([replace(FAILING, id="t.py::test_x")], {})) == ranked()
    )


def test_a_fix_among_many_suspicious_statements_is_less_sure() -> None:
    candidate = next(iter(generate_candidates(ranked(), SOURCES, Hints())))
    found = PlausiblePatch(
        candidate=replace(candidate, priority=NOWHERE), helped=frozenset({0}), trust=0.8, near=10
    )
    assert compute_confidence(found, (), MANY_STATEMENTS) == compute_confidence(found, ()) == 0.8
    share = found.weight / (found.weight + NOWHERE)
    assert compute_confidence(found, (), MANY_STATEMENTS + 1) == round(0.8 * share**SHARED, 2) < 0.8

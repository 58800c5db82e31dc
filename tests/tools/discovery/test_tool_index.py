"""The search over tools: what it finds among 420, and the words by which it does."""

from __future__ import annotations

import pytest

from benchmarks.tool_search import measure
from tests.tools.discovery.catalogue import load_queries, load_tools
from tools.discovery.tool_index import ToolIndex
from tools.discovery.tool_words import reduce_word, split_words
from tools.discovery.word_ranking import WordRanking


def count_found(half: int) -> int:
    index = ToolIndex(load_tools())
    return sum(
        tool in [each.name for each in index.find_tools(query, 5)] for tool, query in load_queries()[half::2]
    )


def test_the_tool_is_among_the_first_five() -> None:
    assert len(load_queries()) == 200
    assert count_found(0) >= 96  # of 100 for development
    assert count_found(1) >= 92  # of 100 held out


def test_tools_of_public_servers_are_found_as_a_model_asks_for_them() -> None:
    index = ToolIndex(measure.load_tools())
    questions = [*measure.load_questions(), *measure.load_questions("later_questions.tsv")]
    ranks = [measure.find_rank(index, each.of_model, each.tools) or 99 for each in questions]
    assert len(questions) == 149
    assert sum(rank <= 5 for rank in ranks) >= 0.98 * len(ranks)


def test_words_that_are_used_for_one_another_meet() -> None:
    ranking = WordRanking([(("remove a label", 1.0),), (("add a label", 1.0),), (("a picture", 1.0),)])
    assert ranking.rank("erase the label") == [0, 1]
    assert ranking.rank("photo") == [2]


def test_a_meaning_counts_once_however_many_of_its_words_a_document_has() -> None:
    many = "create add make new insert open start write"
    ranking = WordRanking([((many, 1.0),), (("make a kubernetes pod", 1.0),), (("unrelated", 1.0),)])
    assert ranking.rank("create a kubernetes pod") == [1, 0]
    assert ranking.rank("") == []


def test_an_exact_name_comes_first_and_odd_queries_find_nothing() -> None:
    index = ToolIndex(load_tools())
    assert index.find_tools("call mcp__aws__purge_queue please", 3)[0].name == "mcp__aws__purge_queue"
    for query in ("", "the of and", "xyzzy qwfp", "…"):
        assert index.find_tools(query, 5) == []
    assert ToolIndex([]).find_tools("create issue", 5) == []


@pytest.mark.parametrize(
    ("word", "others"),
    [
        ("issue", ["issues"]),
        ("query", ["queries", "querying"]),
        ("list", ["lists", "listing", "listed"]),
        ("branch", ["branches"]),
        ("merge", ["merged", "merging"]),
        ("plan", ["planned", "planning", "plans"]),
        ("status", ["status"]),
    ],
)
def test_forms_of_a_word_have_one_stem(word: str, others: list[str]) -> None:
    assert {reduce_word(each) for each in others} == {reduce_word(word)}


def test_names_are_split_as_programs_write_them() -> None:
    assert [*split_words("listIssues get_HTTPHeaders of the user-id")] == [
        "list",
        "issu",
        "get",
        "http",
        "header",
        "user",
        "id",
    ]

"""Order rules: their text, the compiled monitor against the plain meaning of a rule, rules that exclude each other."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.rules.event_pattern import Happening
from agent.rules.order_rules import OrderMonitor, ParsedOrder, list_tool_names, parse_order
from agent.rules.rule_kinds import OrderRule
from agent.rules.rule_parsing import check_rules, parse_rules
from sandbox.errors import Fault, UserError

NAMES = ("git_commit", "edit", "tests-passed")

SPELLINGS = {
    "git_commit needs tests-passed since edit": {
        "before": "git_commit",
        "need": "tests-passed",
        "since": "edit",
    },
    "git_commit needs tests-passed": {"before": "git_commit", "need": "tests-passed"},
    "never git_commit after edit": {"never": "git_commit", "after": "edit"},
    "never git_commit after edit until tests-passed": {
        "never": "git_commit",
        "after": "edit",
        "until": "tests-passed",
    },
}
"""Texts of rules, and the same in parts."""

ODD = ["edit needs tests-passed since edit", "never edit after edit until tests-passed"]
"""An event that is restricted by itself."""


def parse(**fields: str) -> ParsedOrder:
    return parse_order(OrderRule(name="rule", **fields), list_tool_names())


def is_kept(order: ParsedOrder, before: list[set[str]]) -> bool:
    """Whether a restricted event is allowed after these actions, by the words of the rule alone."""
    needed = {each.name for each in order.decisive}
    reset = {each.name for each in order.reset}
    last_needed = max((at for at, names in enumerate(before) if names & needed), default=None)
    last_reset = max((at for at, names in enumerate(before) if names & reset), default=None)
    if order.forbids:
        return last_needed is None or (last_reset is not None and last_reset > last_needed)
    if not order.reset:
        return last_needed is not None
    return last_reset is None or (last_needed is not None and last_needed >= last_reset)


@pytest.mark.parametrize("text", SPELLINGS)
def test_a_text_means_the_same_as_its_parts(text: str) -> None:
    one, other = parse(text=text), parse(**SPELLINGS[text])
    assert (one.forbids, one.restricted, one.decisive, one.reset) == (
        other.forbids,
        other.restricted,
        other.decisive,
        other.reset,
    )


@pytest.mark.slow
@pytest.mark.parametrize("text", [*SPELLINGS, *ODD])
@given(trace=st.lists(st.sets(st.sampled_from(NAMES)), max_size=12))
def test_the_monitor_decides_as_the_rule_is_meant(text: str, trace: list[set[str]]) -> None:
    order = parse(text=text)
    monitor = OrderMonitor(order)
    restricted = {each.name for each in order.restricted}
    for at, names in enumerate(trace):
        letter = order.find_letter([Happening(name=each) for each in sorted(names)])
        allowed = not names & restricted or is_kept(order, trace[:at])
        assert monitor.is_broken_by(letter) is not allowed
        assert monitor.is_broken_by(letter) is not allowed, "asking changes nothing"
        monitor.observe(letter)


def test_a_pattern_selects_events() -> None:
    order = parse(text="shell(git push *) or git_commit needs tests-passed since edit(src/**)")
    assert order.find_letter([Happening(name="shell", commands=("git push origin",))]) == "x"
    assert order.find_letter([Happening(name="shell", commands=("git pushy",))]) == ""
    assert order.find_letter([Happening(name="edit", paths=frozenset({"docs/a.md", "src/a.py"}))]) == "z"
    assert order.find_letter([Happening(name="edit", paths=frozenset({"docs/a.md"}))]) == ""


BAD = {
    "git_commit wants read": "is no order",
    "git_comit needs read": "did you mean 'git_commit'?",
    "git_commit needs tests-passed(x)": "takes no pattern",
    "git_commit needs edit()": "has an empty pattern",
    "git_commit needs": "is no event",
}


@pytest.mark.parametrize("text", BAD)
def test_a_wrong_text_is_explained(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(BAD[text])):
        parse(text=text)


@pytest.mark.parametrize(
    "fields",
    [{}, {"before": "edit"}, {"before": "edit", "need": "read", "after": "read"}, {"text": "x", "need": "y"}],
)
def test_parts_that_are_no_order_are_refused(fields: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"an order has|either `text`"):
        parse(**fields)


def order(name: str, text: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "kind": "order", "text": text, **more}


def of_kind(kind: str, **fields: Any) -> dict[str, Any]:
    return {"name": kind, "kind": kind, **fields}


CONTRADICTORY: list[tuple[list[dict[str, Any]], list[str]]] = [
    (
        [order("a", "git_commit needs run_tests"), order("b", "run_tests needs git_commit")],
        ["'a'", "'b'", "git_commit can never happen"],
    ),
    (
        [
            order("a", "git_commit needs plan"),
            order("b", "plan needs run_tests"),
            order("c", "run_tests needs git_commit"),
        ],
        ["'a'", "'b'", "'c'", "git_commit can never happen"],
    ),
    ([order("a", "edit needs edit")], ["'a'", "edit can never happen"]),
    (
        [order("a", "git_commit needs tests-passed since edit"), order("b", "never run_tests after edit")],
        ["'a'", "'b'", "git_commit can become impossible for ever"],
    ),
    (
        [order("a", "git_commit needs edit(CHANGELOG.md)"), of_kind("protect", paths=["*.md"])],
        ["'a'", "'protect'", "git_commit can never happen"],
    ),
    (
        [
            order("a", "git_commit needs shell(make lint) since edit"),
            of_kind("commands", commands=["make *"]),
        ],
        ["'a'", "'commands'", "git_commit can become impossible"],
    ),
    (
        [of_kind("tests", command="cd sub && make check"), of_kind("commands", commands=["make *"])],
        ["'tests'", "'commands'", "may not be run"],
    ),
    (
        [order("a", "git_commit needs edit(docs/**) since tests-passed"), of_kind("freeze", level="refuse")],
        ["'a'", "'freeze'", "frozen then"],
    ),
    ([order("a", "git_commit needs read"), order("a", "edit needs read")], ["two rules are called 'a'"]),
]
"""Rules that cannot be kept together, and what names them."""

COMPATIBLE: list[list[dict[str, Any]]] = [
    [order("a", "git_commit needs tests-passed since edit"), order("b", "edit needs read")],
    [order("a", "git_commit needs edit(CHANGELOG.md)"), of_kind("protect", paths=["src/**"])],
    [order("a", "git_commit needs edit(CHANGELOG.md)"), of_kind("protect", paths=["*.md"], level="ask")],
    [order("a", "never shell(git push *) after read(secrets/**)")],
    [order("a", "never git_commit after edit until tests-passed"), order("b", "edit needs plan")],
    [of_kind("tests", command="make check"), of_kind("commands", commands=["make deploy"])],
    [order(f"r{n}", f"git_commit needs shell(check {n}) since edit(d{n}/**)") for n in range(12)],
]


@pytest.mark.parametrize(("tables", "said"), CONTRADICTORY, ids=lambda each: str(len(each)))
def test_rules_that_contradict_each_other_are_refused_by_name(
    tables: list[dict[str, Any]], said: list[str]
) -> None:
    with pytest.raises(UserError) as problem:
        check_rules(parse_rules(tables, "rules.toml"))
    assert problem.value.fault is Fault.CONFIGURATION
    assert "\n" not in problem.value.message
    assert [each for each in said if each not in problem.value.message] == []


@pytest.mark.parametrize("tables", COMPATIBLE)
def test_rules_that_can_be_kept_together_are_accepted(tables: list[dict[str, Any]]) -> None:
    assert len(check_rules(parse_rules(tables, "rules.toml"))) == len(tables)


WRONG = [
    ({"name": "x", "kind": "dif", "max_lines": 3}, "Did you mean 'diff'?"),
    ({"name": "x", "kind": "diff", "max_line": 3}, "Did you mean 'max_lines'?"),
    ({"name": "x", "kind": "diff"}, "it needs `max_lines` or `max_files`"),
    ({"name": "x", "kind": "diff", "max_lines": 0}, "allows no change at all"),
    ({"name": "x", "kind": "protect"}, "'paths' is missing"),
    ({"name": "x", "kind": "protect", "paths": "a"}, "Input should be a valid list"),
    ({"name": "x", "kind": "protect", "paths": ["../a"]}, "leads out of the workspace"),
    ({"name": "x", "kind": "protect", "paths": ["~nobody-has-this-name/a"]}, "the home folder of no user"),
    ({"name": "x", "kind": "freeze", "paths": ["src/{a,b}.py"]}, "matches no path"),
    ({"name": "x", "kind": "diff", "max_lines": 1, "paths": ["src\\a.py"]}, "matches no path"),
    ({"name": "x", "kind": "order", "text": "never edit(/other/a.py) after prompt"}, "matches nothing"),
    (
        {"name": "x", "kind": "order", "text": "commit needs read(../a) since edit"},
        "leads out of the workspace",
    ),
    ({"name": "x", "kind": "protect", "paths": ["a"], "level": "off"}, "'level'"),
    ({"name": "x", "kind": "imports", "modules": ["a b"]}, "is no name of a module"),
    ({"name": "x", "kind": "commands", "commands": ["*"]}, "would forbid every command"),
    ({"name": "x", "kind": "tests"}, "it needs `tests` or a `command`"),
    ({"name": " ", "kind": "tests", "command": "true"}, "its name is empty"),
    ({"name": "x", "kind": "tests", "command": "true", "source": "y"}, "no field 'source'"),
]


@pytest.mark.parametrize(("table", "said"), WRONG)
def test_a_wrong_rule_is_refused_with_its_name_and_file(table: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as problem:
        parse_rules([table], "rules.toml")
    assert "in rules.toml" in problem.value.message
    assert said in f"{problem.value.message} {problem.value.hint}"

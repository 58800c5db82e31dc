"""The tree of attempts, as the events of a log tell it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.events import (
    AttemptEvent,
    CandidateEvent,
    ChoiceEvent,
    End,
    Event,
    GuidanceEvent,
    ObservationEvent,
    Prompt,
    SnapshotEvent,
    StopAttemptEvent,
    UndoEvent,
    UsageRecord,
)
from agent.strategy.person.attempt_tree import AttemptTree
from agent.strategy.person.direction_check import check_direction
from agent.strategy.person.taken_attempt import check_turn_has_ended
from sandbox.errors import UserError


def build(*events: Event) -> AttemptTree:
    for number, each in enumerate(events, 1):
        each.id = f"e{number}"
    return AttemptTree.from_events(events)


def attempt(number: int, after: int = 0, **more: Any) -> AttemptEvent:
    return AttemptEvent(number=number, child=f"child-{number}", after=after, strategy="tree", **more)


def candidate(number: int, patch: str = "", **more: Any) -> CandidateEvent:
    return CandidateEvent(attempt=number, child=f"child-{number}", exit_code=0, patch=patch, **more)


def bring_back(patch: str) -> ObservationEvent:
    return ObservationEvent(call="harness", tool="bring_back", text="", data={"patch": patch})


def snapshot() -> SnapshotEvent:
    return SnapshotEvent(tree="t", when="after")


def end() -> End:
    return End(outcome="done", exit_code=0, usage=UsageRecord())


def test_each_attempt_is_below_the_one_that_it_goes_on_from() -> None:
    tree = build(Prompt(text="mend"), attempt(1), attempt(2), attempt(3, after=1), attempt(4, after=3))
    assert [(depth, node.number) for depth, node in tree.walk()] == [(0, 1), (1, 3), (2, 4), (0, 2)]


def test_a_log_whose_attempts_name_each_other_is_no_endless_tree() -> None:
    tree = build(Prompt(text="mend"), attempt(1, after=2), attempt(2, after=1), attempt(3, after=3))
    assert sorted(node.number for _, node in tree.walk()) == [1, 2, 3]


def test_the_kinds_of_beginnings_have_words() -> None:
    pair = attempt(3, after=1, hint="attempts 1 and 2 put together")
    role = AttemptEvent(number=4, child="c", strategy="team", hint="brief")
    tree = build(Prompt(text="mend"), attempt(1), attempt(2, after=1, hint="mend: wrong"), pair, role)
    assert [tree.nodes[n].start for n in (1, 2, 3, 4)] == [
        "own way",
        "from 1",
        "1 and 2 put together",
        "brief",
    ]


def test_the_last_turn_with_attempts_counts_whatever_follows() -> None:
    older = (Prompt(text="first"), attempt(1), attempt(2), candidate(1, "out:1"), end())
    newer = (Prompt(text="second"), attempt(1), candidate(1, "out:2"), end(), Prompt(text="third"), end())
    tree = build(*older, *newer)
    assert (tree.prompt, list(tree.nodes), tree.has_ended) == ("second", [1], True)


def test_undo_and_redo_change_which_attempt_is_in_the_files() -> None:
    made = [Prompt(text="mend"), attempt(1), attempt(2), candidate(1, "out:1"), candidate(2, "out:2")]
    chosen = [ChoiceEvent(attempt=1, order=[1, 2]), bring_back("out:1"), snapshot(), end()]
    taken = [
        Prompt(text="use"),
        ChoiceEvent(attempt=2, order=[2], by="person"),
        bring_back("out:3"),
        snapshot(),
    ]
    tree = build(*made, *chosen, *taken)
    assert (tree.applied, tree.applied_patch) == (2, "out:2"), (
        "the exchange was applied, its result is the patch's"
    )
    steps = [each.id for each in (*chosen, *taken) if isinstance(each, SnapshotEvent)]
    tree.handle_event(UndoEvent(action="undo", steps=steps[1:], before="a", after="b"))
    assert tree.applied == 1
    tree.handle_event(UndoEvent(action="undo", steps=steps[:1], before="a", after="b"))
    assert (tree.applied, tree.applied_patch) == (0, "")
    tree.handle_event(UndoEvent(action="redo", steps=steps[:1], before="a", after="b"))
    assert tree.applied == 1


def test_the_change_of_a_team_is_no_attempts() -> None:
    tree = build(Prompt(text="mend"), attempt(1), candidate(1, "out:1"), bring_back("out:9"), snapshot())
    assert (tree.applied, tree.applied_patch) == (0, "out:9"), "taking attempt 1 takes out the team's"


def test_tests_are_compared_only_where_both_runs_name_them(tmp_path: Path) -> None:
    tree = build(Prompt(text="mend"), attempt(1), candidate(1, "out:1"))
    assert tree.compare_tests(tree.get_node(1), tmp_path) is None, "no run before"
    tree.failing = frozenset({"a"})
    assert tree.compare_tests(tree.get_node(1), tmp_path) is None, "its log is gone"


def test_a_number_that_there_is_not_is_a_mistake() -> None:
    tree = build(Prompt(text="mend"), attempt(1), attempt(2))
    with pytest.raises(UserError, match="no attempt 3: there are 1, 2"):
        tree.get_node(3)
    with pytest.raises(UserError, match="no attempt 1: there is none"):
        build(Prompt(text="mend")).get_node(1)


def test_a_turn_that_was_cut_off_is_not_given_up_by_taking_one_of_its_attempts() -> None:
    killed = (Prompt(text="mend"), attempt(1), attempt(2), candidate(1, "out:1"))
    tree = build(*killed)
    assert (tree.has_ended, tree.is_cut_off) == (False, True)
    with pytest.raises(UserError, match="'s1' was cut off") as raised:
        check_turn_has_ended(tree, "s1")
    assert raised.value.hint == "Let it end first: patchwright resume s1"
    tree.handle_event(end())
    check_turn_has_ended(tree, "s1")
    tree.handle_event(Prompt(text="use"))
    assert (tree.has_ended, tree.is_cut_off) == (True, True), "a turn that takes one may be cut off, too"


def test_a_turn_in_whose_place_another_came_takes_no_directions() -> None:
    tree = build(Prompt(text="mend"), attempt(1), attempt(2), candidate(1, "out:1"), Prompt(text="other"))
    assert tree.has_ended
    for given in (GuidanceEvent(attempt=2, text="look"), StopAttemptEvent(attempt=2)):
        with pytest.raises(UserError, match="the turn of attempt 2 has ended"):
            check_direction(tree, given)
    tree.handle_event(attempt(1))
    assert not tree.has_ended, "that one makes attempts of its own"

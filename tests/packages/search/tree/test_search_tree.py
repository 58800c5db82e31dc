"""Choice of the node that a search goes on from: promise, the unknown, closed ends."""

from __future__ import annotations

from packages.search.tree.search_tree import MOST_REFINEMENTS, SearchTree


def test_a_search_goes_on_from_what_promises_most_and_begins_anew_in_between() -> None:
    tree = SearchTree()
    assert tree.select() is tree.root
    first = tree.add(1, tree.root)
    tree.record(first, 0.9)
    assert tree.select() is first
    tree.record(tree.add(2, first), 0.9)
    assert tree.select() is tree.root, "one way to begin is too few"
    second = tree.add(3, tree.root)
    tree.record(second, 0.2)
    assert tree.select() is first


def test_a_number_of_a_judge_decides_between_equal_states_only() -> None:
    tree = SearchTree()
    first, second, better = (tree.add(number, tree.root) for number in (1, 2, 3))
    for node, value, opinion in ((first, 0.5, 2.0), (second, 0.5, 9.0), (better, 0.6, 0.0)):
        tree.record(node, value)
        node.opinion = opinion
    tree.root.closed = True
    assert tree.select() is better
    better.closed = True
    assert tree.select() is second


def test_attempts_under_way_are_not_chosen_and_push_others_away() -> None:
    tree = SearchTree()
    first = tree.add(1, tree.root)
    assert tree.select() is tree.root, "it has no value yet"
    tree.record(first, 0.5)
    assert first.mean == 0.5
    deeper = tree.add(2, first)
    assert first.mean == 0.25, "one under way counts as a visit that was worth nothing"
    tree.record(deeper, 0.7)
    assert (first.visits, first.total, tree.root.visits) == (2, 1.2, 2)
    assert deeper.line == [first, deeper]
    assert list(tree) == [first, deeper]


def test_closed_nodes_are_left_and_their_children_are_not() -> None:
    tree = SearchTree()
    first = tree.add(1, tree.root)
    tree.record(first, 0.5)
    second = tree.add(2, first)
    tree.record(second, 0.6)
    tree.root.closed = first.closed = True
    assert tree.select() is second
    for number in range(MOST_REFINEMENTS):
        tree.record(tree.add(3 + number, second), 0.1)
    for each in second.children:
        each.closed = True
    assert tree.select() is None


def test_a_plateau_is_left_and_the_state_before_it_stays_open() -> None:
    tree = SearchTree()
    first = tree.add(1, tree.root)
    tree.record(first, 0.5)
    plateau = tree.add(2, first)
    tree.record(plateau, 0.5)
    assert plateau.closed
    tree.root.closed = True
    assert tree.select() is first


def test_half_of_the_new_beginnings_are_told_of_a_change_that_mended_nothing() -> None:
    tree = SearchTree()
    told = []
    for number in range(1, 7):
        assert tree.select() is tree.root
        node = tree.find_untold() or tree.root
        told.append(node.number)
        tree.record(tree.add(number, node), 0.2, is_promising=False)
    assert told == [0, 0, 2, 0, 4, 0]

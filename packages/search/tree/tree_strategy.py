"""`tree`: attempts that go on from each other, the most promising first (SWE-Search, CodeTree).

The first attempt is made alone: easy work gets one pass. Then two are made at a time. Each begins in its own way, or
goes on from an earlier one by the remedy of its failure. What ran is the only reward.
"""

from __future__ import annotations

from collections.abc import Collection

from agent.monitor.answers import TurnEnd
from agent.session_settings import StrategySettings
from agent.strategy.best_candidate import apply_best
from agent.strategy.strategy_turn import StrategyTurn
from packages.search.tree.search_record import P, SearchRecord
from packages.search.tree.search_tree import Node, SearchTree
from packages.search.tree.search_work import SearchWork
from sandbox.lazy_dataclass import dataclass


@dataclass(slots=True)
class TreeSearch:
    """A search over attempts. Implements `Strategy`."""

    settings: StrategySettings
    takes_advice: bool = False

    async def run(self, turn: StrategyTurn) -> TurnEnd:
        """See `Strategy.run`."""
        work = await SearchWork.create(turn, self.settings)
        tree = SearchTree()
        while not work.is_over and await make_round(work, tree):
            pass
        return await apply_best(turn, work.candidates, work.refinement)


async def make_round(work: SearchRecord[P], tree: SearchTree) -> int:
    """Make the next attempts and value them; return how many there were."""
    room, begun, plans = work.room, list[Node](), dict[int, P]()
    refused = set[int]()
    while len(begun) < room and (node := _select(work, tree, refused)) is not None:
        plan = _plan(work, node)
        if plan is None:
            refused.add(node.number)
            node.closed, node.leads_nowhere = True, False
            continue
        number = work.take_number()
        plans[number] = plan
        begun.append(tree.add(number, node))
        node.closed |= work.is_deterministic
    made = await work.make(plans)
    for node, candidate in zip(begun, made, strict=True):
        value = await work.value(candidate, [each.number for each in node.line[:-1]])
        node.opinion = work.get_opinion(node.number)
        tree.record(node, value, is_promising=work.is_promising(node.number))
    return len(begun)


def _select(work: SearchRecord[P], tree: SearchTree, refused: Collection[int]) -> Node | None:
    """Return the node that a person gave guidance to, else the one that is gone on from next.

    refused: nodes that no attempt of this round could follow, so that a round ends whatever is said meanwhile
    """
    valued = [each for each in tree if each.value is not None and each.number not in refused]
    guided = (each for each in valued if work.takes_guidance(each.number))
    node = next(guided, None) or tree.select()
    if node is not None and node.parent is None and not work.is_deterministic:
        return tree.find_untold() or node
    return node


def _plan(work: SearchRecord[P], node: Node) -> P | None:
    """Return the attempt after a node: a new beginning below the root, else a retry; None if there is none."""
    if node.parent is None:
        return work.plan_start()
    return work.plan_retry([each.number for each in node.line], [each.number for each in node.children])

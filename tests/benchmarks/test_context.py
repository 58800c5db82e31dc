"""The context benchmark measures what it says: hard references, cost with a cache, and policies by their rules."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from agent.session_settings import ContextSettings
from benchmarks.context.data import Run, Step, events, generated, joined, load
from benchmarks.context.measure import CACHED, FRESH, replay
from benchmarks.context.policies import LastOutputs, Listed, Ours, policies

SHARES = ContextSettings(recent=300, batch=900)


def run(number: int, steps: int = 12) -> Run:
    made = [
        Step(
            thought=f"Look at {i}.",
            action=f"open src/part_{i}.py" if i else "ls",
            observation=f"src/part_{i + 1}.py\n"
            + "".join(f"def helper_{i}_{n}(value):\n" for n in range(12)),
        )
        for i in range(steps)
    ]
    late = Step(thought="Now.", action="python -c 'helper_2_3(1)'", observation="ok")
    return Run(f"owner__name-{number}", "Be good.", f"Fix issue {number}.", (*made, late))


def test_trajectories_of_both_forms_are_read(tmp_path: Path) -> None:
    history = [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "T"},
        {"role": "assistant", "content": "x", "thought": "why", "action": "ls src"},
        {"role": "user", "content": "a.py"},
        {"role": "assistant", "content": "then\n```bash\ncat a.py\n```"},
    ]
    packed = tmp_path / "runs.jsonl.xz"
    packed.write_bytes(lzma.compress(json.dumps({"id": "o__r-1", "history": history}).encode()))
    plain = tmp_path / "one.traj.json"
    plain.write_text(json.dumps({"instance_id": "o__r-2", "messages": history}))
    first, second = load([packed, plain])
    assert (first.system, first.task, first.repository) == ("S", "T", "o__r")
    assert first.steps == (Step("why", "ls src", "a.py"), Step("then\n", "cat a.py\n", "done"))
    assert second.id == "o__r-2"


def test_a_hard_reference_is_one_whose_only_source_is_an_older_output() -> None:
    whole = replay(list(events([run(1)])), Listed())
    assert whole.identifiers == [True], "the paths stand in the output just before"
    assert whole.paths == []
    masked = replay(list(events([run(1)])), LastOutputs(1))
    assert masked.identifiers == [False]
    assert masked.reachable == [False]


def test_cost_counts_what_a_cache_holds_at_a_tenth() -> None:
    whole = replay(list(events([run(1)])), Listed())
    assert CACHED * whole.total < whole.cost < FRESH * whole.total
    masked = replay(list(events([run(1)])), LastOutputs(5))
    assert masked.total < whole.total
    assert masked.cost / whole.cost > masked.total / whole.total, "it breaks the cache at every step"


@pytest.mark.slow
def test_ours_keeps_in_sight_what_is_needed_and_stays_small() -> None:
    [session] = joined([run(i) for i in range(8)], count=1)
    made = list(events(session))
    whole, ours = replay(made, Listed()), replay(made, Ours(64_000, SHARES))
    assert ours.compactions > 2
    assert ours.peak < whole.peak * 0.6
    assert ours.cost < whole.cost
    assert all(ours.identifiers)
    assert all(ours.reachable)


def test_every_policy_takes_a_session() -> None:
    made = list(events([run(1), run(2)]))
    for make in policies(8_000, SHARES).values():
        assert replay(made, make()).total > 0


@pytest.mark.slow
def test_a_generated_session_holds_what_was_planted() -> None:
    made, constraints, facts = generated(600, every=200)
    policy = Ours(16_000, SHARES)
    result = replay(made, policy)
    text = "\n".join(policy.request())
    assert result.peak < 16_000
    assert all(each in text for each in constraints)
    assert len(facts) == 3
    assert all(policy.reachable([int(event[1:])]) for _, event in facts)

"""A candidate runs where it changes nothing that measures it, and is compared on inputs that it has not seen."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from packages.improve.optimize.equivalence import LIMITS, Equivalence
from packages.improve.optimize.measurement import LONGEST_RUN, Measurement, PairedRuns
from packages.improve.optimize.target_profile import profile_target
from packages.offline.commands.repair import open_workspace
from packages.search.programs.program_runner import ProgramRunner
from sandbox.errors import UserError
from tests.support.confined import needs_confinement
from tools.testing.project_copies import create_copies

pytestmark = pytest.mark.slow

TARGET = """
def scale(items, factor):
    found = []
    for each in items:
        found.append(each * factor)
    return found


def fetch(things):
    return things.pop()
"""

METRIC = """
import shop
total = 0
for length in range(1, 30):
    total += sum(shop.scale(list(range(length)), 3))
print("total", len("x" * 40))
"""


KEEPS = """import os
    if 'left' not in globals():
        globals()['left'] = os.path.exists('/tmp/left')
        open('/tmp/left', 'w').close()
    if globals()['left']:
        os._exit(7)
    return [1]"""
"""Ends with 7 where it finds what an earlier run wrote."""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A project of one module, and a metric that prints a constant."""
    needs_confinement(tmp_path)
    (tmp_path / "shop.py").write_text(TARGET)
    (tmp_path / "metric.py").write_text(METRIC)
    return tmp_path


def use(
    shop: Path, work: Callable[[Measurement], Awaitable[None]], command: str = "python3 metric.py"
) -> None:
    async def run() -> None:
        with open_workspace(shop) as at:
            async with create_copies(at, 2) as (base, trial):
                await work(
                    Measurement(
                        original=at, base=base.at, trial=trial.at, path="shop.py", command=command, goal="min"
                    )
                )

    asyncio.run(run())


async def pair(measurement: Measurement, body: str) -> PairedRuns:
    """Measure one pair with `scale` replaced."""
    measurement.write_candidate(f"def scale(items, factor):\n    {body}\n")
    runs = PairedRuns(goal="min")
    await measurement.add_pair(runs)
    return runs


def test_no_run_changes_the_metric_or_another_run(shop: Path) -> None:
    async def work(measurement: Measurement) -> None:
        await measurement.start()
        for place in (measurement.trial.root, measurement.base.root, measurement.original.root):
            runs = await pair(
                measurement, f"open({str(place / 'metric.py')!r}, 'w').write('print(0)'); return [1]"
            )
            assert runs.reason, f"{place} was written"
            assert (place / "metric.py").read_text() == METRIC
        for _ in range(2):
            runs = await pair(measurement, KEEPS)
            assert not runs.reason, "what an earlier run left in /tmp is gone"

    use(shop, work)


def test_what_is_clearly_slower_is_seen_beside_a_run_that_is_known(shop: Path) -> None:
    (shop / "metric.py").write_text(f"{METRIC}\nprint(shop.scale([2], 3)[0])\n")

    async def work(measurement: Measurement) -> None:
        assert (await measurement.start()).value == 6
        for value, runs in ((60, 1), (5, 2), (2, 2)):
            measurement.write_candidate(f"def scale(items, factor):\n    return [{value}]\n")
            before, found = measurement.runs, PairedRuns(goal="min")
            assert await measurement.add_pair(found, is_look=True)
            assert (found.pairs, measurement.runs - before) == ([(6.0, float(value))], runs)
        measurement.write_candidate("def scale(items, factor):\n    return [60]\n")
        before, found = measurement.runs, PairedRuns(goal="min")
        assert await measurement.add_pair(found)
        assert measurement.runs - before == 2, "a pair of a claim has both"

    use(shop, work)


def test_a_candidate_that_hangs_is_ended_soon(shop: Path) -> None:
    async def work(measurement: Measurement) -> None:
        await measurement.start()
        assert measurement._longest < LONGEST_RUN
        measurement._longest = 1.0
        runs = await pair(measurement, "while True: pass")
        assert runs.reason.startswith("timeout")

    use(shop, work)


@pytest.mark.parametrize(
    "body",
    ["print('total 0'); return [1]", "raise SystemExit(0)", "import os; os._exit(0)", "raise SystemExit(3)"],
)
def test_what_the_metric_does_not_print_gives_no_value(shop: Path, body: str) -> None:
    async def work(measurement: Measurement) -> None:
        await measurement.start()
        runs = await pair(measurement, body)
        assert runs.reason
        assert not runs.pairs

    use(shop, work)


def test_a_metric_that_fails_is_said_at_once(shop: Path) -> None:
    async def work(measurement: Measurement) -> None:
        with pytest.raises(UserError, match="the metric fails on the original"):
            await measurement.start()

    use(shop, work, "python3 missing.py")


def test_a_metric_without_a_number_is_timed(shop: Path) -> None:
    async def work(measurement: Measurement) -> None:
        sample = await measurement.start()
        assert not measurement.is_printed
        assert sample.value is not None
        assert sample.value > 0

    use(shop, work, "python3 -c 'import shop'")


def test_a_file_with_form_feeds_is_profiled(shop: Path) -> None:
    text = f"# A\x0c\n\x0c{TARGET}\n\x0c\nif __name__ == '__main__':\n    scale([1], 2)\n"
    (shop / "shop.py").write_text(text)

    async def work(measurement: Measurement) -> None:
        profile = await profile_target(measurement, text)
        assert (profile.problem, bool(profile.calls["scale"])) == ("", True)

    use(shop, work, "python3 shop.py")


WRONG = {
    "returns early": "def scale(items, factor):\n    return [each * factor for each in items[:30]]\n",
    "knows the factor only": "def scale(items, factor):\n    return [each * 3 for each in items]\n",
    "changes its argument": (
        "def scale(items, factor):\n    found = [each * factor for each in items]\n    items.clear()\n"
        "    return found\n"
    ),
    "returns another type": "def scale(items, factor):\n    return tuple(each * factor for each in items)\n",
    "returns floats": "def scale(items, factor):\n    return [float(each * factor) for each in items]\n",
    "prints": "def scale(items, factor):\n    print(1)\n    return [each * factor for each in items]\n",
}


def test_answers_are_compared_beside_those_that_were_seen(shop: Path) -> None:
    async def work(measurement: Measurement) -> None:
        profile = await profile_target(measurement, TARGET)
        assert not list(measurement.original.folders.cache.glob("profile-*")), "the account is read once"
        assert not profile.problem
        assert len(profile.calls["scale"]) > 5
        assert "fetch" not in profile.calls or not profile.calls["fetch"]
        assert (measurement.trial.root / "shop.py").read_text() == TARGET, "the probe is gone"
        runner = ProgramRunner(sandbox=measurement.original.sandbox, folder=shop, limits=LIMITS, exact=True)
        equivalence = Equivalence(
            runner=runner, base=measurement.base.root, trial=measurement.trial.root, path="shop.py", source=TARGET,
            calls={"scale": profile.calls["scale"]},
        )  # fmt: skip
        measurement.write_candidate(
            "def scale(items, factor):\n    return [each * factor for each in items]\n"
        )
        assert not await equivalence.find_difference("scale")
        assert not await equivalence.find_difference("scale", held_out=True)
        assert equivalence.compared > 1000
        assert not equivalence.can_compare("fetch")
        for case, text in WRONG.items():
            measurement.write_candidate(text)
            found = await equivalence.find_difference("scale", held_out=case == "returns early")
            assert found or case == "returns early", case

    use(shop, work)


def test_a_target_that_a_copy_only_links_to_is_left_alone(shop: Path) -> None:
    installed = shop / "node_modules" / "shop.py"
    installed.parent.mkdir()
    installed.write_text(TARGET)

    async def work(measurement: Measurement) -> None:
        measurement.path = "node_modules/shop.py"
        with pytest.raises(UserError, match="is not copied"):
            await measurement.start()

    use(shop, work)

"""What weak models achieve: the same scripted repairs in perfect form, and with seven of ten replies spoiled.

    python benchmarks/weak_models.py [--seeds N] [--rate 0.7] [--lead never]

Each run is a session against a loopback server: `tests/support/weak_model.py` describes the bugs and the faults.
`--lead never` shows what the harness-led mode adds.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

sys.path.insert(0, str(Path(__file__).parents[1]))

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.model.model_settings import CatalogSettings, ModelSettings
from agent.session_request import SessionRequest
from agent.session_settings import LeadSettings, LeadWhen, LimitSettings, SessionSettings
from agent.turn.lead_monitors import attach_lead
from sandbox.access_settings import AccessSettings
from sandbox.policy.decision import Approval
from tests.support.loopback import Loopback
from tests.support.small_bugs import BUGS, Bug
from tests.support.weak_model import FAULTS, WeakScript

TARGET = "at least 80 % of what the same model mends in perfect form; no turn ends as done with failing tests"
MOST_STEPS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One session. outcome: of its end event"""

    outcome: str
    steps: int
    requests: int
    seconds: float
    faults: tuple[str, ...]

    @property
    def is_mended(self) -> bool:
        """Whether the turn ended as done; that its tests pass then is the harness's promise, checked by `run_bug`."""
        return self.outcome == "done"


def run_bug(
    bug: Bug,
    folder: Path,
    seed: int,
    *,
    rate: float,
    when: LeadWhen = "auto",
    window: int = 8_192,
    faults: Sequence[str] = FAULTS,
    led_rate: float | None = None,
) -> Outcome:
    """Let the weak model mend one bug. Raises AssertionError if a turn is done and its tests fail."""
    root = folder / "work"
    bug.write(root)
    for line in (
        ("init", "-q"),
        ("add", "."),
        ("-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "Begin"),
    ):
        subprocess.run(["git", "-C", str(root), *line], check=True, capture_output=True)
    script = WeakScript(bug, root, seed, rate=rate, faults=faults, led_rate=led_rate)
    began = time.monotonic()
    with Loopback() as server:
        server.script = cast(Any, script)
        settings = SessionSettings(
            model="openai/weak",
            api_base=server.url,
            models=ModelSettings(catalog={"openai/weak": CatalogSettings(window=window)}),
            lead=LeadSettings(when=when, fallback="never"),
            limits=LimitSettings(max_steps=MOST_STEPS),
            commit="never",
            access=AccessSettings(approval=Approval.NEVER, sandbox="unconfined"),
        )

        async def go() -> tuple[str, int]:
            runtime = assemble_runtime(
                settings, SessionRequest(working=root, env={}), Home.from_environment()
            )
            attach_lead(runtime)
            end = await runtime.run_turn("Make the failing tests pass.")
            await runtime.close()
            return end.outcome, end.steps

        outcome, steps = asyncio.run(go())
        requests = len(server.requests)
    if outcome == "done":
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", "-q"], cwd=root, capture_output=True, check=False
        )
        assert ran.returncode == 0, f"{bug.name}: done, and the tests fail"
    seconds = time.monotonic() - began
    return Outcome(
        outcome=outcome, steps=steps, requests=requests, seconds=seconds, faults=tuple(script.drawn)
    )


def main() -> None:
    """Run all bugs in perfect form and spoiled, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rate", type=float, default=0.7)
    parser.add_argument("--lead", choices=["auto", "always", "never"], default="auto")
    options = parser.parse_args()
    perfect, spoiled = [], list[Outcome]()
    with tempfile.TemporaryDirectory() as folder:
        for bug in BUGS:
            perfect.append(run_bug(bug, Path(folder, bug.name, "perfect"), 0, rate=0.0, when=options.lead))
            for seed in range(options.seeds):
                found = run_bug(
                    bug, Path(folder, bug.name, str(seed)), seed, rate=options.rate, when=options.lead
                )
                spoiled.append(found)
                print(
                    f"{bug.name} {seed}: {found.outcome}, {found.steps} steps, {', '.join(found.faults)}",
                    flush=True,
                )
    whole = sum(each.is_mended for each in perfect) / len(perfect)
    weak = sum(each.is_mended for each in spoiled) / len(spoiled)
    faults = Counter(fault for each in spoiled for fault in each.faults)
    print(f"\n{TARGET}\n")
    print(f"| form | sessions | mended | median steps |\n|---|--:|--:|--:|\n"
          f"| perfect | {len(perfect)} | {whole:.0%} | {sorted(each.steps for each in perfect)[len(perfect) // 2]} |\n"
          f"| {options.rate:.0%} spoiled | {len(spoiled)} | {weak:.0%} | "
          f"{sorted(each.steps for each in spoiled)[len(spoiled) // 2]} |\n")  # fmt: skip
    print(f"share of the perfect form: {weak / whole:.0%}; faults: "
          + ", ".join(f"{name} {count}" for name, count in faults.most_common()))  # fmt: skip


if __name__ == "__main__":
    main()

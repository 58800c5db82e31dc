"""A kernel with the default tools behind a real gateway, for tests that are no coroutines themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from sandbox.backends.selection import choose_sandbox
from sandbox.fs.workspace_tree import Tree
from sandbox.policy.decision import Approval, Decision, Mode, Policy
from sandbox.policy.effects import Effect
from sandbox.policy.rules import NO_RULES, Rules
from sandbox.snapshots.workspace_snapshots import Snapshots
from tools.builtin_tools import load_accepted_tools, load_default_tools
from tools.core.action import Action, Observation
from tools.core.artifacts import Artifacts
from tools.core.gateway import Gateway
from tools.core.registry import Toolbox
from tools.core.tool_folders import ToolFolders
from tools.core.tool_settings import ToolSettings
from tools.core.workspace import Workspace
from tools.kernel.kernel_session import KernelSession


class Kernel:
    """Blocks run in `root`, each as an action of its own. `log` holds what the gateway was asked to do.

    box: the sandbox's name
    """

    def __init__(
        self,
        root: Path,
        *,
        box: str = "auto",
        mode: Mode = Mode.FULL,
        rules: Rules = NO_RULES,
        memory: int = 4096,
    ) -> None:
        root.mkdir(parents=True, exist_ok=True)
        place = root.parent / f"{root.name}-session"
        kept = {scope: root.parent / "kept" / scope for scope in ("project", "user")}
        self.log: list[tuple[str, ...]] = []
        self.runner = asyncio.Runner()
        self.at = Workspace(
            root=root,
            files=Tree(root, rules.denies_reading),
            sandbox=choose_sandbox(root, box, spill=place / "spill"),
            artifacts=Artifacts(place / "artifacts"),
            journal=place / "journal",
            settings=ToolSettings(kernel_memory=memory),
            folders=ToolFolders(cache=place / "cache", saved_functions=kept),
            mode=mode,
        )
        snapshots = None if mode is Mode.READ_ONLY else Snapshots(root, place / "snapshots")
        self.gateway = Gateway(
            toolbox=Toolbox(load_default_tools(), load_accepted_tools()),
            workspace=self.at,
            policy=Policy(mode, Approval.AUTO, rules),
            recorder=self,
            snapshots=snapshots,
        )
        self.at.kernel = KernelSession(self.at, self.gateway)
        self._blocks = 0

    def __enter__(self) -> Kernel:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.at.kernel is not None
        self.wait(self.at.kernel.close())
        self.runner.close()

    def wait(self, waiting: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(waiting)

    def run(self, code: str, **arguments: Any) -> Observation:
        return self.wait(self.start(code, **arguments))[0]  # type: ignore[no-any-return]

    def start(self, code: str, **arguments: Any) -> Coroutine[Any, Any, list[Observation]]:
        """The same, to be awaited beside something else."""
        self._blocks += 1
        action = Action(id=f"b{self._blocks}", tool="python", arguments={"code": code, **arguments})
        return self.gateway.run([action])

    def text(self, code: str, **arguments: Any) -> str:
        """What a block that works says, without its first line."""
        observation = self.run(code, **arguments)
        first, _, rest = observation.text.partition("\n")
        assert first.startswith("ok"), observation.text
        return rest

    # The gateway's recorder:

    def record_action(self, action: Action, effect: Effect) -> None:
        self.log.append(("action", action.id, action.tool))

    def record_decision(self, action: Action, decision: Decision, by: str) -> None:
        self.log.append(("decision", action.id, decision.verdict))

    def record_observation(self, action: Action, observation: Observation, seconds: float) -> None:
        self.log.append(("observation", action.id, "failed" if observation.failed else "ok"))

    def record_snapshot(self, tree: str, when: str) -> None:
        self.log.append(("snapshot", tree))

"""The ways to work of a session as modes of the protocol: plan, ask, auto, never wider than the settings fix."""

from __future__ import annotations

from acp.schema import SessionMode, SessionModeState

from agent.events import Signal
from agent.mode_switch import switch_approval, switch_mode
from agent.turn.runtime import Runtime
from cli.tui.conversation.access_cycle import CYCLE, Access, find_obstacle
from cli.tui.conversation.plan_mode import ASKED, SWITCHED
from sandbox.access_settings import AccessSettings
from sandbox.errors import Fault, UserError
from sandbox.policy.decision import Approval, Mode

AS_SET = "settings"
"""Id of the mode that a session begins with, where it is none of the three."""


def _describe_access(access: Access) -> str:
    """Return the meaning of a mode, without its name and the terminal's way out of it."""
    return access.about.partition(": ")[2].partition(" (")[0]


class SessionModes:
    """Modes of one session. fixed: access of the settings, which no mode exceeds"""

    def __init__(self, runtime: Runtime, fixed: AccessSettings) -> None:
        self._runtime = runtime
        self._fixed = fixed
        self._first = (runtime.policy.mode, runtime.policy.approval)
        self._is_planning = False

    @property
    def note(self) -> str:
        """What the model gets with each prompt in this mode, "" for nothing."""
        return ASKED if self._is_planning else ""

    @property
    def current(self) -> str:
        """Id of the present mode."""
        if self._is_planning:
            return CYCLE[0].name
        policy = self._runtime.policy
        present = (policy.mode, policy.approval)
        found = (each.name for each in CYCLE if (each.mode, each.approval) == present)
        return next(found, AS_SET)

    def describe(self) -> SessionModeState:
        """Return the modes that can be chosen, and the present one."""
        modes = [
            SessionMode(id=each.name, name=each.name.capitalize(), description=_describe_access(each))
            for each in CYCLE
            if not self._find_obstacle(each)
        ]
        if self._is_own_first():
            mode, approval = self._first
            words = f"as the settings say: mode {mode}, approval {approval}"
            modes.insert(0, SessionMode(id=AS_SET, name="As set", description=words))
        return SessionModeState(available_modes=modes, current_mode_id=self.current)

    @property
    def is_planning(self) -> bool:
        """Whether nothing may be changed until the user agrees to a plan."""
        return self._is_planning

    async def enter(self, mode_id: str) -> None:
        """Use another mode from the next action on. Raises UserError for one that there is not."""
        if mode_id == AS_SET and self._is_own_first():
            await self.leave_plan()
            await self._use(*self._first)
            return
        access = next((each for each in CYCLE if each.name == mode_id), None)
        if access is None:
            names = ", ".join(each.id for each in self.describe().available_modes)
            raise UserError(Fault.USAGE, f"there is no mode {mode_id[:100]!r}", f"Modes: {names}")
        if why := self._find_obstacle(access):
            raise UserError(Fault.USAGE, f"mode {access.name} is not possible: {why}")
        if access.approval is None:
            await self._enter_plan()
            return
        await self.leave_plan()
        await self._use(access.mode, access.approval)

    async def restore(self) -> None:
        """Return to plan mode if the resumed session was in it."""
        for event in self._runtime.session.replayed.select_marked_newest_first("signal"):
            if isinstance(event, Signal) and event.name == SWITCHED:
                if event.detail.endswith("on"):
                    await self._enter_plan()
                return

    def _find_obstacle(self, access: Access) -> str:
        return find_obstacle(self._fixed, self._runtime.workspace.sandbox.name, access)

    def _is_own_first(self) -> bool:
        return self._first not in [(each.mode, each.approval) for each in CYCLE]

    async def _enter_plan(self) -> None:
        if not self._is_planning:
            await switch_mode(self._runtime, Mode.READ_ONLY, plans=True)
            self._is_planning = True
            self._runtime.session.append(Signal(name=SWITCHED, detail="plan mode is on"))

    async def leave_plan(self) -> None:
        """Return to the mode before the plan."""
        if self._is_planning:
            self._is_planning = False
            await switch_mode(self._runtime, self._first[0])
            self._runtime.session.append(Signal(name=SWITCHED, detail="plan mode is off"))

    async def _use(self, mode: Mode, approval: Approval) -> None:
        policy = self._runtime.policy
        if policy.mode is not mode:
            await switch_mode(self._runtime, mode)
        if policy.approval is not approval:
            switch_approval(self._runtime, approval)

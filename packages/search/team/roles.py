"""Roles of a team: a child session each, whose last message is an artefact, asked for once more where it is invalid."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field, replace
from functools import partial

from agent.children.child import Child
from agent.children.spec import ChildSpec
from agent.context.system_prompt import PROMPTS
from agent.events import AttemptEvent, CandidateEvent, Signal
from agent.exit_codes import Exit
from agent.strategy.candidate import Candidate
from agent.strategy.strategy_turn import Equip, StrategyTurn
from agent.team.board.board_access import open_board
from agent.team.board.board_log import open_logged_board
from agent.team.board.findings_board import FindingsBoard
from packages.search.answer_schema import build_answer_schema
from packages.search.team.artefacts import Artefact, read_artefact
from sandbox.lazy_dataclass import dataclass
from sandbox.secrets.child_environment import redact
from tools.core.text import clip
from tools.core.untrusted_output import enclose_in_tag

_PROMPTS = PROMPTS / "team"

ROLES = ("brief", "plan", "tester", "coder", "replan")
"""Names of the roles; the setting `agents.models` gives one its model."""

_LOOK = frozenset({"read", "list", "search", "code", "git_log"})
"""Tools of the roles that read the project."""

_BLIND = frozenset({"list"})
"""Tools of the tester, beside its own `read`, which shows no code."""

MOST_ANSWER = 20_000
"""Characters of an invalid artefact that its role sees again."""

_AGAIN = "\n\nYour last message was not the artefact that was asked for: {problem}\n{before}\nGive it again, mended."

Check = Callable[[Artefact], Iterable[str]]
"""Yields problems of an artefact that its form alone does not show."""


@dataclass(slots=True)
class Roles:
    """Asks the roles of one turn. A role that had answered before a kill is not asked again."""

    turn: StrategyTurn
    board: FindingsBoard = field(init=False)
    _numbers: dict[str, int] = field(default_factory=dict)
    _last: int = 0

    def __post_init__(self) -> None:
        """Read the numbers of the attempts of a resumed turn."""
        history = self.turn.runtime.session.replayed
        begin = f"e{history.find_newest_place('prompt')}"
        self.board = open_logged_board(self.turn.runtime.session, "team", after=begin)
        for event in history.read_events_from(begin):
            if isinstance(event, AttemptEvent):
                self._numbers.setdefault(event.hint, event.number)
                self._last = max(self._last, event.number)
            elif isinstance(event, CandidateEvent):  # one that could not be started has no other event
                self._last = max(self._last, event.attempt)

    @property
    def tool_names(self) -> frozenset[str]:
        """Names of the session's tools: a role has no others."""
        return frozenset(tool.name for tool in self.turn.runtime.toolbox)

    def get_number(self, name: str) -> int:
        """Return the number of an attempt; the same for the same name after a kill."""
        if name not in self._numbers:
            self._last += 1
            self._numbers[name] = self._last
        return self._numbers[name]

    def get_model(self, role: str) -> str:
        """Return the name of a role's model, "" for the session's."""
        return self.turn.runtime.settings.agents.models.get(role, "")

    async def ask(
        self, role: str, kind: type[Artefact], prompt: str, check: Check[Artefact], name: str = ""
    ) -> Artefact | None:
        """Return the valid artefact of a role; None, with a signal in the log, where it gives none.

        name: of the attempt in the log, the role's where none is given
        """
        runtime, name, problem, asked = self.turn.runtime, name or role, "", prompt
        for attempt in (name, f"{name}, again"):
            spec = ChildSpec(
                prompt=redact(asked),
                instructions=read_prompt(role),
                model=self.get_model(role),
                tools=(_BLIND if role == "tester" else _LOOK) & self.tool_names,
                limits=self.turn.build_limits(),
            )
            equip = partial(self._equip, kind, equip_tester if role == "tester" else self._open_board)
            candidate = await self.attempt(attempt, spec, equip)
            artefact = read_artefact(kind, candidate.report)
            if isinstance(artefact, kind):
                problem = "; ".join(check(artefact))
                if not problem:
                    return artefact
            else:
                problem = str(artefact)
            if candidate.exit_code != Exit.DONE:
                problem = f"{candidate.outcome}: {clip(candidate.report, 200)}"
                break
            before = enclose_in_tag("artefact", clip(candidate.report, MOST_ANSWER))
            asked = f"{prompt}{_AGAIN.format(problem=problem, before=before)}"
        runtime.session.append(Signal(name="team-role", detail=f"{name} failed: {clip(problem, 300)}"))
        return None

    async def attempt(self, name: str, spec: ChildSpec, equip: Equip | None = None) -> Candidate:
        """Make an attempt that is known by its name, as soon as a processor is free."""
        async with self.turn.local_slots:
            return await self.turn.attempt(
                self.get_number(name), replace(spec, role=name), hint=name, equip=equip or self._open_board
            )

    def _equip(self, kind: type[Artefact], equip: Equip, child: Child) -> None:
        """Equip a child, and let its provider make the answer fit the artefact, where it can."""
        child.runtime.loop.replies.answer_schema = build_answer_schema(kind)
        equip(child)

    def _open_board(self, child: Child) -> None:
        open_board(child, self.board)


def equip_tester(child: Child) -> None:
    """Give a child the tool that reads documents, tests and interfaces, and no code."""
    from agent.team.interface_view import read

    child.runtime.toolbox.add([read])


def read_prompt(role: str) -> str:
    """Return the instructions of a role."""
    return (_PROMPTS / f"{role}.md").read_text("utf-8").strip()


def quote_artefact(name: str, text: str) -> str:
    """Return the text of another role as data."""
    return enclose_in_tag(name, text)

"""One turn of the offline engine, as its messages show it, and the replies that continue or end it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent.model.protocol import Reply, Request, UserMessage
from agent.prompt.proposal_answers import accepts_proposal, read_accepted_numbers
from packages.offline.model.turn_steps import Step, collect_steps, find_proposed_search, find_turn_start
from sandbox.lazy_dataclass import dataclass
from tools.core.action import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineTurn:
    """The calls since the last prompt, with their observations.

    prompt: the words of the person, with what they typed later in the turn
    notes: texts of the harness beside them
    tools: parameters of the offered tools, by name
    number: of messages in the request, from which the ids of actions are made
    accepted: the search of the previous turn, whose proposal the prompt accepts; None if it accepts none
    accepted_numbers: of the changes that the prompt names, () for all
    commits: whether a repair is committed without being asked
    """

    prompt: str
    notes: Sequence[str]
    steps: Sequence[Step]
    tools: Mapping[str, Mapping[str, Any]]
    number: int
    accepted: Step | None
    accepted_numbers: tuple[int, ...] = ()
    commits: bool = True

    @classmethod
    def from_request(cls, request: Request, *, commits: bool = True) -> OfflineTurn:
        """Read the last turn of a request."""
        start = find_turn_start(request.messages)
        messages = request.messages[start:]
        texts = [each for each in messages if isinstance(each, UserMessage) and not each.passing]
        said = [each.text for each in texts if each.by_person]
        accepts = bool(said) and accepts_proposal(said[0])
        return cls(
            prompt="\n".join(said),
            notes=[each.text for each in texts if not each.by_person],
            steps=collect_steps(messages),
            tools={each.name: each.parameters for each in request.tools},
            number=len(request.messages),
            accepted=find_proposed_search(request.messages[:start]) if accepts else None,
            accepted_numbers=read_accepted_numbers(said[0]) if accepts else (),
            commits=commits,
        )

    @property
    def may_commit(self) -> bool:
        """Whether a commit can be made, is wanted by the settings or the prompt, and the prompt does not forbid it."""
        from agent.prompt.prompt_reader import read_intent

        intent = read_intent(self.prompt)
        wanted = (self.commits and not intent.forbids_commit) or intent.wants_commit
        return "git_commit" in self.tools and wanted

    def find_steps(self, tool: str) -> list[Step]:
        """Return the calls of a tool, in their order."""
        return [step for step in self.steps if step.action.tool == tool]

    def call_tool(self, text: str, tool: str, arguments: Mapping[str, Any]) -> Reply:
        """Return a reply that calls a tool."""
        return Reply(text=text, actions=(self.build_action(tool, arguments),), stop="actions")

    def end(self, summary: str, status: str) -> Reply:
        """End the turn, through `finish` where it is offered so that programs can read the status."""
        if "finish" not in self.tools:
            return Reply(text=summary)
        known = "status" in self.tools["finish"].get("properties", {})
        return self.call_tool("", "finish", {"summary": summary, **({"status": status} if known else {})})

    def build_action(self, tool: str, arguments: Mapping[str, Any], suffix: str = "") -> Action:
        """Build an action. Its id is its position in the history: unique, and the same when it is requested again.

        suffix: of the id of a second action in one reply
        """
        return Action(id=f"offline-{self.number}{suffix}", tool=tool, arguments=dict(arguments))

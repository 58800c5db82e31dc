"""Voters: child sessions that each see one file and an instruction, and know nothing of each other."""

from __future__ import annotations

from collections.abc import Sequence

from agent.children.children import Children
from agent.children.gather import gather_all
from agent.children.spec import ChildResult, ChildSpec
from agent.context.system_prompt import read_prompt
from agent.exit_codes import BY_FAULT
from agent.session_settings import LimitSettings
from agent.turn.runtime import Runtime
from packages.search.microsteps.answers import RedFlag, read_answer
from packages.search.microsteps.ledger import Ledger
from sandbox.errors import Fault, UserError
from sandbox.fs.text_file import decode_text
from sandbox.lazy_dataclass import dataclass
from sandbox.sanitize import quote_name
from sandbox.secrets.child_environment import redact
from tools.core.untrusted_output import enclose_in_tag

AT_ONCE = 8
"""Voters that answer at the same time: providers limit more."""

ONE_ANSWER = LimitSettings(max_steps=2, max_time=600.0)
"""Limits of a voter: one answer, and one more request if it was empty."""

_FATAL = {
    int(BY_FAULT[fault]): fault
    for fault in (Fault.MODEL_UNREACHABLE, Fault.CREDENTIALS, Fault.CONFIGURATION, Fault.STORAGE_FULL)
}
"""Ends of a voter that all others would share."""


class LimitReached(Exception):
    """Raised where a limit of the user's allows no more votes; the text says which."""


@dataclass(slots=True, kw_only=True)
class Voters:
    """Asks for votes, and writes each into the ledger."""

    runtime: Runtime
    children: Children
    ledger: Ledger
    instruction: str

    async def collect_votes(self, path: str, before: bytes, number: int) -> None:
        """Ask for so many votes on a file. Raises LimitReached, and UserError where no voter can answer."""
        while number > 0:
            at_once = min(number, AT_ONCE)
            number -= at_once
            prompt = f"Instruction: {self.instruction}\n\n{enclose_file(path, before)}"
            asked = [self._ask("migrate_step.md", prompt) for _ in range(at_once)]
            for result in await gather_all(asked):
                self._record_vote(path, before, result)

    async def ask_for_script(self, files: Sequence[tuple[str, bytes]]) -> str:
        """Ask once for a program that makes the change in every file; return the reply."""
        parts = [f"Instruction: {self.instruction}", "Some of the files:"]
        parts += [enclose_file(path, content) for path, content in files]
        result = await self._ask("migrate_script.md", "\n\n".join(parts))
        self.ledger.add("usage", usage=dict(result.usage))
        return result.report

    async def _ask(self, system: str, prompt: str) -> ChildResult:
        purse = self.runtime.purse
        if reached := purse.find_stop_reason():
            raise LimitReached(reached)
        spec = ChildSpec(prompt=prompt, system=read_prompt(system), tools=[], limits=ONE_ANSWER)
        result = await self.children.run(spec)
        if (fault := _FATAL.get(result.exit_code)) is not None:
            raise UserError(fault, result.report)
        if not result.succeeded and not result.usage.get("output") and (reached := purse.find_stop_reason()):
            raise LimitReached(reached)
        return result

    def _record_vote(self, path: str, before: bytes, result: ChildResult) -> None:
        usage = {name: result.usage.get(name) or 0 for name in ("input", "cached", "output", "cost")}
        try:
            answer = read_answer(self.runtime.workspace.files, path, before, result.report)
        except RedFlag as flag:
            self.ledger.add("vote", path=path, key=None, flag=str(flag), child=result.child, usage=usage)
            return
        content = self.ledger.save_content(answer.content)
        self.ledger.add("vote", path=path, key=answer.key, content=content, child=result.child, usage=usage)


def enclose_file(path: str, content: bytes) -> str:
    """Return a file as a model sees it: marked as data, without secrets."""
    text = redact(decode_text(content).text)
    return enclose_in_tag("file-to-change", text, f" path={quote_name(path)!r}")

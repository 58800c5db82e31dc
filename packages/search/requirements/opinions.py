"""A model's part in requirements: more of them before the work, and opinions after it on those no code can check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent.verify.requirement import Requirement, Result
from packages.search.reader import Reader, format_list, get_text_field
from sandbox.lazy_dataclass import dataclass

MOST_PROPOSED = 8
"""Requirements that a model may add: a longer list is a plan."""


@dataclass(slots=True, kw_only=True)
class Opinions:
    """Asks read-only child sessions. What they answer is of the kind `judged`, and an opinion."""

    reader: Reader

    async def propose(self, prompt: str, known: Sequence[Requirement]) -> list[Requirement]:
        """Return more requirements of a prompt."""
        rows = format_list([each.text for each in known if each.kind != "group"])
        found = await self.reader.ask("requirements_list", prompt, {"known-requirements": rows})
        texts = dict.fromkeys(filter(None, (get_text_field(each, "text") for each in found)))
        return [
            Requirement(id=f"r{number}", text=text, source="model")
            for number, text in enumerate(list(texts)[:MOST_PROPOSED], 1)
        ]

    async def review(
        self, requirements: Sequence[Requirement], prompt: str, diff: str, trace: str
    ) -> Mapping[str, Result]:
        """Return opinions by id on requirements that code has not checked."""
        parts = {
            "requirements": format_list([f"{each.id}: {each.text}" for each in requirements]),
            "diff": diff or "(nothing was changed)",
            "actions": trace or "(none)",
        }
        answers = await self.reader.ask("requirements_review", prompt, parts)
        ids = {each.id for each in requirements}
        found: dict[str, Result] = {}
        for each in answers:
            id_, detail = get_text_field(each, "id"), get_text_field(each, "detail")
            match each.get("state"):
                case "met" if id_ in ids:
                    found[id_] = Result(state="met", evidence="opinion", detail=detail)
                case "not met" if id_ in ids:
                    found[id_] = Result(state="not met", evidence="opinion", detail=detail)
        return found

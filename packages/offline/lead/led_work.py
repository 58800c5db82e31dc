"""State of the work that the harness leads: the failing tests, the suspects, the candidates and the proposals."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from packages.offline.lead.edit_words import Edit, describe_replacement
from packages.offline.lead.function_questions import build_questions
from packages.offline.lead.proposals import Block, find_blocks, find_choice, find_syntax_error
from packages.offline.lead.suspects import LONGEST, Suspect, find_named
from sandbox.lazy_dataclass import dataclass
from tools.core.workspace import Workspace

LONGEST_ANEW = 30
"""Lines of a function that a small model may be asked to write anew."""

MESSAGE = 700
"""Characters of a failure that a question shows."""


@dataclass(slots=True, kw_only=True)
class LedWork:
    """What a question is made of, and what a reply is taken for.

    task: the user's prompt; report: the last run of the suite
    suspects: the most suspicious first; at: index of the one in question
    candidates: changes of the offline engine that pass the tests, each of one or more edits
    asks_anew: whether later questions about a function hide its code, which the smallest models only copy
    edits: the ones under trial; note: what became of the last proposal
    """

    workspace: Workspace
    task: str
    report: Mapping[str, Any]
    suspects: Sequence[Suspect] = ()
    at: int = 0
    asks_anew: bool = False
    candidates: Sequence[Sequence[Edit]] = ()
    edits: Sequence[Edit] = ()
    note: str = ""
    _tried: set[str] = field(default_factory=set)
    _replies: Counter[str] = field(default_factory=Counter)

    @property
    def suspect(self) -> Suspect | None:
        """The function in question, as it is now."""
        if not self.suspects:
            return None
        known = self.suspects[self.at % len(self.suspects)]
        return find_named(self.workspace, known.symbol, [known.path]) or known

    def is_better(self, report: Mapping[str, Any]) -> bool:
        """Return whether a run of the tests failed only where the last one did, and in fewer of them."""
        return report.get("outcome") == "failed" and _list_failing(report) < _list_failing(self.report)

    @property
    def instructions(self) -> str:
        """Name of the system prompt of the present question."""
        return "lead.md" if self._build_question_anew() is None else "lead_anew.md"

    def build_question(self) -> str:
        """Return the next question: the failure, the suspect function, and the candidates."""
        if (anew := self._build_question_anew()) is not None:
            return anew
        parts = [f"Task: {textwrap.shorten(self.task, 400)}", self._describe_failure()]
        if (suspect := self.suspect) is not None:
            parts.append(self._show_function(suspect))
        if self.candidates:
            lines = [f"{number}. {_describe(each)}" for number, each in enumerate(self.candidates, 1)]
            parts.append("These changes pass the tests:\n" + "\n".join(lines))
            parts.append(
                "Reply with the number of the right one, or with the corrected function in one block."
            )
        else:
            parts.append("Reply with the corrected function in one ```python block.")
        return "\n\n".join(filter(None, [*parts[:-1], self.note, parts[-1]]))

    def _build_question_anew(self) -> str | None:
        """Return the question for a function without its code; None where the code is to be shown.

        A method is shown: it cannot be written without the rest of its class.
        """
        suspect, test = self.suspect, self._find_failing_test()
        if suspect is None or test is None or self.candidates or "." in suspect.symbol:
            return None
        replies = self._replies[suspect.symbol]
        if not self.asks_anew or not replies or len(suspect.source.splitlines()) > LONGEST_ANEW:
            return None
        questions = build_questions(suspect.source, test.source)
        return questions[(replies - 1) % len(questions)] if questions else None

    def _find_failing_test(self) -> Suspect | None:
        """Return the first failing test's function, where its id tells file and name, as pytest's do."""
        failures = self.report.get("failures") or ()
        path, _, name = str(failures[0].get("id", "")).partition("::") if failures else ("", "", "")
        found = (
            find_named(self.workspace, name.partition("[")[0].replace("::", "."), [path]) if name else None
        )
        return found if found is not None and len(found.source) <= MESSAGE else None

    def propose(self, reply: str) -> list[Edit]:
        """Return the edits that a reply proposes; none, and a note for the next question, if it proposes none."""
        if (suspect := self.suspect) is not None:
            self._replies[suspect.symbol] += 1
        chosen = find_choice(reply, len(self.candidates))
        if chosen is not None:
            return self._accept(list(self.candidates[chosen - 1]))
        blocks = find_blocks(reply)
        if not blocks:
            self.note = "Your last reply had no code block."
            return []
        edits: list[Edit] = []
        for block in blocks:
            if problem := find_syntax_error(block.code):
                self.note = f"Your last block was not valid Python: {problem}."
                continue
            if (edit := self._build_edit(block)) is not None:
                edits.append(edit)
        return self._accept(edits)

    def _accept(self, edits: list[Edit]) -> list[Edit]:
        changes = [each for each in edits if each["old"] != each["new"]]
        key = repr([sorted(each.items()) for each in changes])
        if edits and not changes:
            self.note = "Your last block was the function as it is: something in it has to change."
        elif changes and key in self._tried:
            self.note = "You have proposed that before, and the test still failed: change something else."
            return []
        self._tried.add(key)
        return changes

    def _build_edit(self, block: Block) -> Edit | None:
        suspect = self.suspect
        if block.name:
            paths = [each.path for each in self.suspects]
            found = suspect if suspect is not None and _is_named(suspect, block.name) else None
            found = found or find_named(self.workspace, block.name, paths)
            if found is None:
                self.note = f"There is no function {block.name!r}: keep the name of the function."
                return None
            return replace_function(found, block.code)
        return self._replace_lines(suspect, block.code) if suspect is not None else None

    def _replace_lines(self, suspect: Suspect, code: str) -> Edit | None:
        """Replace the suspect statement by a few lines without a definition."""
        place = self.suspects[self.at % len(self.suspects)]
        lines = suspect.source.splitlines()
        first, last = place.line - place.first, place.end - place.first
        if len(code.splitlines()) > 3 or not 0 <= first <= last < len(lines):
            self.note = "Your last block was not the whole function: begin it with its `def` line."
            return None
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        new = [*lines[:first], *textwrap.indent(code, indent).splitlines(), *lines[last + 1 :]]
        return {"path": suspect.path, "old": suspect.source, "new": "\n".join(new)}

    def _describe_failure(self) -> str:
        failures = self.report.get("failures") or ()
        if not failures:
            return "The tests fail."
        first = failures[0]
        told = "\n".join(filter(None, (str(first.get("message", "")), str(first.get("detail", "")))))
        return f"This test fails: {first.get('id', '?')}\n{told[:MESSAGE]}"

    def _show_function(self, suspect: Suspect) -> str:
        lines = suspect.source.splitlines()
        if len(lines) > LONGEST:
            lines = [*lines[:LONGEST], "    # …"]
        source = textwrap.dedent("\n".join(lines))
        return f"Probably wrong: {suspect.symbol} in {suspect.path}\n```python\n{source}\n```"


def _is_named(suspect: Suspect, name: str) -> bool:
    return name.rpartition(".")[2] == suspect.symbol.rpartition(".")[2]


def replace_function(found: Suspect, code: str) -> Edit:
    """Return the edit that puts other code in a function's place, with its indentation and its decorators."""
    lines = found.source.splitlines()
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    kept = []
    if not code.lstrip().startswith("@"):
        for line in lines:
            if line.lstrip().startswith(("def ", "async def ")):
                break
            kept.append(line)
    new = "\n".join([*kept, textwrap.indent(code, indent)])
    return {"path": found.path, "old": found.source, "new": new}


def _describe(edits: Sequence[Edit]) -> str:
    return "; ".join(
        f"{each['path']}: {describe_replacement(_flatten(each['old']), _flatten(each['new']))}"
        for each in edits
    )


def _flatten(text: str) -> str:
    return textwrap.shorten(" ".join(text.split()), 160)


def _list_failing(report: Mapping[str, Any]) -> set[str]:
    return {str(each.get("id")) for each in report.get("failures") or ()}

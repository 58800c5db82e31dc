"""Parser of tool calls that a model wrote into its text, in any of the notations that models are trained on.

`find_calls` separates them from the surrounding prose. Text in a quotation is never a call: a block quote, a
block of shown output, an example, and above all anything that a tool has returned before; else a file that
says `<tool_call>…` would be obeyed as soon as a model quotes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from agent.model.protocol import ToolSpec
from agent.model.text_calls import json_calls, line_calls, python_calls, tag_calls, token_calls
from agent.model.text_calls.known_tools import Call, Candidate, KnownTools
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

__all__ = ["RESULT", "Call", "FoundCalls", "Outputs", "find_calls", "normalize_text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCalls:
    """Result of a parse. prose: the text without the calls; quoted: calls that were quotations, left in the prose"""

    prose: str
    calls: tuple[Call, ...] = ()
    quoted: int = 0


_THOUGHT = compile_lazily(
    r"<(think|thinking|thought|reasoning|scratch_pad)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)

RESULT = compile_lazily(
    r"^[ \t>]*(?:\**(?:Observation|Tool (?:result|output|response))\**[ \t]*[:：]"
    r"|<(?:tool_response|tool_result|function_results?|observation|tool_output)\b)"
    r"|<[|｜]tool▁outputs?▁begin[|｜]>|\[TOOLRESULTS\]|<\|im_start\|>(?:user|tool)|<\|start\|>(?:tool|user)",
    re.MULTILINE | re.IGNORECASE,
)
"""Where a model begins to invent its call's result. All text after it depends on the invention."""

_SHOWN = compile_lazily(
    r"\b(?:for example|for instance|e\.g\.|example|looks? like|such as|sample|syntax|format|template|documentation"
    r"|do not (?:run|call|execute)|don't (?:run|call|execute)|never (?:run|call|execute)|instead of"
    r"|outputs?|printed|prints|returned|returns|shows?|showed|contains?|contained|says|said|reads as follows|logged"
    r"|quot(?:e|es|ed|ing)|injection|suspicious|malicious|would (?:be|have)|could (?:be|have|use|call)"
    r"|previous(?:ly)?|earlier|you can (?:use|call)|users? can)\b",
    re.IGNORECASE,
)
"""Words of a sentence right before a block that show that the block is an example, not a call."""

_MEANT = compile_lazily(
    r"\b(?:let me|i will|i'll|let's|now i|i need|i should|i am going|i'm going)\b", re.IGNORECASE
)
"""Words that show that it is a call all the same."""

_SHOWING_FENCES = compile_lazily(
    r"^[ \t]*```[ \t]*(?!(?:json5?|jsonc|tool\w*|function\w*|action|xml|html|python|py|javascript|js)\b)\w+[^\n]*\n"
    r".*?(?:^[ \t]*```[ \t]*$|\Z)",
    re.DOTALL | re.MULTILINE,
)

_MOST_AFTER = 300
"""Characters of prose after a block that is no explicit call: with more, it is part of an explanation."""


def find_calls(
    text: str,
    tools: Sequence[ToolSpec],
    outputs: Outputs | None = None,
    *,
    sure: bool = False,
    cut: bool = False,
) -> FoundCalls:
    """Return the calls in `text`, in their order.

    tools: those on offer; outputs: earlier outputs of tools
    sure: the model has another way to call tools, so only an unambiguous notation counts, or a text that is
    only a call
    cut: the text was truncated, so a call that only its end would close does not count
    """
    known = KnownTools(tools)
    end, hidden = len(text), [match.span() for match in _THOUGHT.finditer(text)]
    hidden += [match.span() for match in _SHOWING_FENCES.finditer(text)]
    if result := next((m for m in RESULT.finditer(text) if not _is_within(m.start(), hidden)), None):
        end = result.start()
    seen = outputs or Outputs()
    chosen = list[Candidate]()
    quoted = 0
    for candidate in _collect_candidates(text[:end], known):
        if chosen and candidate.start < chosen[-1].end:
            continue
        if (
            _is_within(candidate.start, hidden)
            or _is_block_quote(text, candidate)
            or seen.contains_text(text[candidate.start : candidate.end])
            or not _is_intended_call(text, end, candidate, sure=sure)
            or (cut and candidate.open)
            or (sure and not all(call.tool in known for call in candidate.calls))
        ):
            quoted += 1
            hidden.append((candidate.start, candidate.end))  # nor do candidates inside it
        else:
            chosen.append(candidate)
    calls = tuple(call for each in chosen for call in each.calls)
    return FoundCalls(
        prose=_remove_calls(text, end if calls else len(text), chosen), calls=calls, quoted=quoted
    )


def _collect_candidates(text: str, known: KnownTools) -> list[Candidate]:
    """Return all candidates; of those that begin together the explicit and longer one first."""
    finders = (
        tag_calls.find_candidates,
        token_calls.find_candidates,
        line_calls.find_candidates,
        json_calls.find_candidates,
        python_calls.find_candidates,
    )
    found = [candidate for find in finders for candidate in find(text, known)]
    return sorted(found, key=lambda each: (each.start, not each.explicit, -each.end))


def _is_intended_call(text: str, end: int, candidate: Candidate, *, sure: bool) -> bool:
    before = text[: candidate.start].rstrip()
    line = before.rpartition("\n")[2].rstrip("`").strip() if before else ""
    if line.startswith("```"):  # an explicit call in a fence: the line before the fence counts
        line = before.rpartition("\n")[0].rstrip().rpartition("\n")[2]
    sentence = re.split(r"(?<=[.!?])\s+", line)[-1]
    introduces = sentence.endswith(":") or not candidate.explicit
    if introduces and _SHOWN.search(sentence) and not _MEANT.search(sentence):
        return False
    # In the middle of a line of prose it is a mention: `<tool_call>` is a tag that …
    if candidate.explicit:
        return not text[: candidate.start].rpartition("\n")[2].rstrip().endswith("`")
    rest = text[candidate.end : end].strip().strip("`")
    if sure:
        return not before.strip("`").strip() and not rest
    return len(rest) <= _MOST_AFTER


def _is_block_quote(text: str, candidate: Candidate) -> bool:
    start = text.rfind("\n", 0, candidate.start) + 1
    return text[start:].lstrip(" \t").startswith(">") or "\n>" in text[candidate.start : candidate.end]


def _is_within(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= place < end for start, end in spans)


class Outputs:
    """Earlier outputs of tools, without white space and fences. plain: texts normalized already"""

    def __init__(self, texts: Iterable[str] = (), plain: Callable[[], Iterable[str]] | None = None) -> None:
        self._make = plain or (lambda: map(normalize_text, texts))
        self._plain: list[str] | None = None

    def contains_text(self, source: str) -> bool:
        """Return whether this text, or its content without the outer tags, occurs in one of them."""
        if self._plain is None:
            self._plain = list(self._make())
        wanted = normalize_text(source)
        inner = normalize_text(re.sub(r"\A\s*<[^>]*>|<[^>]*>\s*\Z", "", source.strip()))
        return any(wanted in each or (len(inner) > 12 and inner in each) for each in self._plain)


def normalize_text(text: str) -> str:
    """Return a text without white space, fences and line prefixes."""
    # Outputs have line numbers; a quotation mostly has none.
    text = re.sub(r"^[ \t]*(?:\d+[:|\t→]|[+>|-](?=\s))[ \t]?", "", text, flags=re.MULTILINE)
    return re.sub(r"```\w*|\s+", "", text)


def _remove_calls(text: str, end: int, chosen: Sequence[Candidate]) -> str:
    parts, at = list[str](), 0
    for each in chosen:
        parts.append(text[at : each.start])
        at = each.end
    parts.append(text[at:end])
    prose = "".join(parts)
    if chosen:
        prose = re.sub(r"^[ \t]*```\w*[ \t]*\n\s*```[ \t]*$", "", prose, flags=re.MULTILINE)
        prose = re.sub(
            r"<[|｜][^<>\n]{1,40}[|｜]>|</?(?:tool_calls?|function_calls?|minimax:tool_call)>", "", prose
        )
        prose = re.sub(r"\n{3,}", "\n\n", prose)
    return prose.strip()

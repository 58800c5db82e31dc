"""Output of tests that an answer shows and that nothing printed: a small model goes on with its tool's reply itself.

Only a runner's own words are output, or what stands behind the mark of a tool's reply; a sample of it in an
explanation is neither an answer about this project's tests nor behind such a mark.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from agent.events import ObservationEvent
from agent.model.text_calls import RESULT
from agent.session.log import Session
from agent.verify.gaming.claims import claims_test_run
from sandbox.lazy_pattern import compile_lazily
from tools.testing.launch import FinishedRun
from tools.testing.output_parsers import parse_any

_OTHER_MARKS = compile_lazily(
    r"^[ \t>]*(?:\**(?:tool|function|system|user|run_tests|shell|output|result|stdout|execution result)\**[ \t]*[:：]"
    r"|\[/?(?:TOOL_)?(?:RESULTS?|OUTPUT)\]|\[the block ran\]|<(?:output|stdout|result|execution_result)\b)"
    r"|[{,]\s*\"(?:tool_)?(?:result|output|observation|response|stdout)\"\s*:",
    re.MULTILINE | re.IGNORECASE,
)
"""More marks of a reply, by roles and tags that chat templates and other agents have."""

_COMMAND = compile_lazily(r"^[ \t]*[$%][ \t]+\S[^\n]*(?:test|spec|check)", re.MULTILINE)
"""A command line as a terminal shows it."""

_RESULT_OF_TESTS = compile_lazily(
    r"\b\d+\s+(?:tests?\s+|of\s+\d+\s+)?(?:passed|failed|passing|failing|green|ok)\b|\bRan \d+ tests?\b"
    r"|\btests?\b[^\n]{0,30}\b(?:pass(?:e[sd]|ing)?|fail(?:s|ed|ing)?|green|ok)\b|\"(?:passed|failed)\"\s*:\s*\d"
    r"|^OK$|^PASS(?:ED)?\b",
    re.MULTILINE | re.IGNORECASE,
)
_ASKS_FOR_STATE = compile_lazily(
    r"\b(?:tests?|test_\w+|suite|specs?)\b[^.!?\n]{0,60}\b(?:pass|fail|green|work|ok|run|succeed|broken|red|result)\w*"
    r"|\b(?:tests?)\b[^.!?\n]{0,60}\b(?:grün|rot|laufen|bestehen|passent|échouent|pasan|fallan)\b"
    r"|测试[^。！？\n]{0,10}(?:通过|失败)|テスト[^。！？\n]{0,10}(?:通|パス|成功|失敗)",
    re.IGNORECASE,
)
_EXPLAINS = compile_lazily(
    r"\b(?:how (?:do|does|can|should|to)|explain|what (?:does|do|is|are)|example|format|wie|comment|cómo)\b"
    r"|如何|怎么|どう",
    re.IGNORECASE,
)


def claims_run(answer: str, session: Session, prompts: Sequence[str], *, has_order: bool) -> bool:
    """Return whether an answer tells of a run of the tests, or shows its output. has_order: see `claims_test_run`"""
    if claims_test_run(answer, has_order=has_order):
        return True
    if not any(each.isdigit() for each in answer):  # no counts: the log is not read for nothing
        return False
    told = (each.text for each in session.replayed.select_events(ObservationEvent))
    return shows_invented_output(answer, prompts, told, has_order=has_order)


def shows_invented_output(
    answer: str, prompts: Iterable[str], outputs: Iterable[str], *, has_order: bool
) -> bool:
    """Return whether an answer shows the output of tests that is in none of the texts before it.

    outputs: of the session's tools; has_order: work was asked for, as opposed to an answer
    """
    asked = "\n".join(prompts)
    if mark := RESULT.search(answer) or _OTHER_MARKS.search(answer):
        lines = [line for line in answer[mark.start() :].splitlines() if _RESULT_OF_TESTS.search(line)]
    elif has_order or (_ASKS_FOR_STATE.search(asked) and not _EXPLAINS.search(asked)):
        shown = _COMMAND.search(answer)
        text = answer[shown.end() :] if shown else ""
        lines = [line for line in text.splitlines() if _RESULT_OF_TESTS.search(line)]
        lines += [line for line in answer.splitlines() if _is_counted(line)]
        lines = lines or [
            line for line in answer.splitlines() if _is_counted(answer) and _RESULT_OF_TESTS.search(line)
        ]
    else:
        return False
    if not lines:
        return False
    known = [asked, *outputs]
    return not any(line.strip(" `*>") in text for line in lines for text in known)


def _is_counted(text: str) -> bool:
    """Return whether a text has the summary of a test runner."""
    nowhere = Path("/nonexistent")
    return parse_any(
        FinishedRun(
            root=nowhere,
            returncode=0,
            text=text,
            full_output=None,
            report_folder=nowhere,
            start_time=time.time(),
        )
    ).counted

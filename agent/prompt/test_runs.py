"""Whether a prompt orders to run the tests."""

from __future__ import annotations

import re

from agent.prompt.prompt_text import split_clauses
from sandbox.lazy_pattern import compile_lazily

_TEST_RUNNERS = (
    r"pytest|py\.test|unittest|jest|vitest|mocha|rspec|phpunit|ctest|(?:cargo|go|npm|yarn|pnpm|make) test"
)
_ENGLISH = compile_lazily(
    r"(?:re-?run|run|execute|launch|start)\s+(?:[\w./:-]+\s+){0,4}?"
    rf"(?:tests?|suite|specs?|{_TEST_RUNNERS}|test_\w+\S*)\b"
    r"(?!\s+(?:in parallel|in ci|on (?:ci|every|each|windows|macos|linux|push)|automatically|generators?|runners?"
    r"|from (?:the|an?)|as part)\b)"
    r"|(?:check|verify|confirm|see|find out)\s+(?:that|whether|if)\s+(?:[\w./:-]+\s+){0,4}?"
    rf"(?:tests?|suite|specs?|test_\w+\S*)\s+(?:still |now |all |really )*(?:pass|passes|succeeds?|works?|runs?"
    r"|(?:is|are) (?:still )?(?:green|ok|passing))\b",
    re.IGNORECASE,
)
"""At the start of an order; where and when a project runs its tests is a change of the project."""
_FOREIGN = compile_lazily(
    r"^(?:bitte\s+)?(?:führ\w*|lass\w*|starte?)\b(?!.*\b(?:nicht|keine?)\b).*\btests?\b.*\b(?:aus|laufen)\b"
    r"|^starte?\b(?!.*\b(?:nicht|keine?)\b).*\btests?\b|\btests?\s+(?:bitte\s+)?ausführen$"
    r"|^(?:lance|exécute)[rz]?\b(?!.*\bpas\b).*\btests?\b|^fai(?:s|tes) tourner\b.*\btests?\b"
    r"|^(?:ejecut|corr|lanz)(?:a|e|ar|er)\b.*\b(?:tests?|pruebas?)\b"
    r"|(?<![不别要勿])(?:运行|执行|跑)(?:一下|一遍|一次)?[^，。！？了]{0,8}(?:测试|pytest)(?!脚本|代码|文件|失败)"
    r"|テスト[^、。]{0,8}?(?:を|も)?(?:実行|走らせ)(?:し)?(?:て|せよ|しろ|してください)",
    re.IGNORECASE,
)


def asks_for_test_run(text: str) -> bool:
    """Return whether a text, without its quotations, orders to run the tests: a question about it does not."""
    from agent.prompt.english_orders import strip_courtesy

    return any(
        _ENGLISH.match(strip_courtesy(clause)) or _FOREIGN.search(clause) for clause in split_clauses(text)
    )

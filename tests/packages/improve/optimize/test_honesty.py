"""A candidate that is quick by deceit is refused on its parse."""

from __future__ import annotations

import pytest

from packages.improve.optimize.honesty import find_deceit

BEFORE = "import math\n\nNAMES = {}\n\n\ndef f(xs):\n    return sum(x * x for x in xs)\n\n\ndef g(x):\n    return x\n"
CALLS = ["([[12345, 67890]], {})", "(['a long word'], {})"]

BODY = "    return sum(x * x for x in xs)\n"

DECEIT = {
    "keeps answers in a global": (
        "KNOWN = {}\n\n\ndef f(xs):",
        "    return KNOWN.setdefault(tuple(xs), 1)\n",
        "outside",
    ),
    "keeps answers in a default": ("def f(xs, known={}):", BODY, "parameters"),
    "keeps answers by a decorator": (
        "import functools\n\n\n@functools.cache\ndef f(xs):",
        BODY,
        "keeps answers",
    ),
    "keeps answers on the function": ("def f(xs):", "    f.known = 1\n" + BODY, "others see"),
    "knows an input of the metric": (
        "def f(xs):",
        "    if xs[0] == 12345:\n        return 7\n" + BODY,
        "knows an input",
    ),
    "holds a table": ("def f(xs):", f"    return {list(range(40))}[len(xs)]\n", "table"),
    "sleeps where the original runs": ("def f(xs):", "    __import__('time').sleep(1)\n" + BODY, "reaches"),
    "imports the clock": ("import time\n\n\ndef f(xs):", "    time.sleep(0)\n" + BODY, "imports time"),
    "turns the clock back": ("def f(xs):", "    math.perf_counter = lambda: 0\n" + BODY, "clock"),
    "edits the metric": ("def f(xs):", "    open('bench.py', 'w').write('')\n" + BODY, "files"),
    "prints a value of its own": ("def f(xs):", "    print('seconds 0')\n" + BODY, "output"),
    "ends the process": ("def f(xs):", "    raise SystemExit(0)\n", "end of the process"),
    "reads its caller": (
        "def f(xs):",
        "    import sys\n    return sys._getframe(1).f_locals['x']\n",
        "other code",
    ),
    "works later": ("def f(xs):", "    import threading\n" + BODY, "outside the measured time"),
    "keeps answers in a container of the module": (
        "def f(xs):", "    return NAMES.setdefault(tuple(xs), sum(x * x for x in xs))\n", "stays from one call",
    ),
    "sets an item of a container of the module": (
        "def f(xs):", "    NAMES[0] = xs\n" + BODY, "stays from one call"
    ),
    "keeps answers in its annotations": (
        "def f(xs):", "    return f.__annotations__.setdefault(tuple(xs), 1)\n", "what a function keeps"
    ),
    "imports two modules at once": (
        "def f(xs):", "    import math, os as m\n    m.truncate('bench.py', 0)\n" + BODY, "reaches files"
    ),
    "reads an attribute by a pattern": (
        "def f(xs):", "    match f:\n        case object(__globals__=g):\n            pass\n" + BODY, "other code",
    ),
    "reads an attribute by its text": (
        "import operator\n\n\ndef f(xs):", "    operator.attrgetter('__globals__')(f)\n" + BODY, "other code"
    ),
    "reads a frame of an exception": (
        "def f(xs):",
        "    try:\n        1 / 0\n    except Exception as e:\n        e.__traceback__.tb_frame.f_globals\n" + BODY,
        "other code",
    ),
    "walks the classes": ("def f(xs):", "    ().__class__.__base__.__subclasses__()\n" + BODY, "other code"),
    "asks where it runs": ("def f(xs):", "    return 0 if 'copies' in __file__ else 1\n", "where it runs"),
}  # fmt: skip


@pytest.mark.parametrize("case", DECEIT)
def test_deceit_is_refused(case: str) -> None:
    head, body, reason = DECEIT[case]
    after = BEFORE.replace("def f(xs):\n" + BODY, f"{head}\n{body}")
    assert reason in find_deceit(BEFORE, after, ["f"], CALLS)


def test_a_pattern_of_the_module_is_no_container_of_answers() -> None:
    before = "import re\n\n\ndef f(x):\n    return re.match('a', x)\n"
    after = "import re\n\nP = re.compile('a')\n\n\ndef f(x):\n    return P.match(x)\n"
    assert not find_deceit(before, after, ["f"])


def test_a_pattern_compiled_in_the_function_is_honest_and_other_code_under_that_name_is_not() -> None:
    before = "import re\n\n\ndef f(x):\n    return [re.match('a', y) for y in x]\n"
    after = before.replace(
        "    return [re.match('a', y)", "    match = re.compile('a').match\n    return [match(y)"
    )
    assert not find_deceit(before, after, ["f"])
    other = before.replace("import re\n", "from builtins import print as re\n")
    for text in (other, before.replace("f(x)", "f(x, re)")):
        changed = text.replace("    return [re.match('a', y)", "    return [re.compile(y)")
        assert "other code" in find_deceit(text, changed, ["f"])


def test_what_the_original_changes_a_candidate_may_change() -> None:
    before = "SEEN = []\n\n\ndef f(x):\n    y = x + 1\n    SEEN.append(y)\n"
    assert not find_deceit(
        before, before.replace("y = x + 1\n    SEEN.append(y)", "SEEN.append(x + 1)"), ["f"]
    )


def test_another_function_stays_as_it_is() -> None:
    after = BEFORE.replace("return x\n", "return 0\n")
    assert "g, which is not the target" in find_deceit(BEFORE, after, ["f"])


def test_honest_work_is_not_refused() -> None:
    after = BEFORE.replace("import math\n", "import math\nimport operator\n").replace(
        BODY, "    return sum(map(operator.mul, xs, xs))\n"
    )
    assert not find_deceit(BEFORE, after, ["f"], CALLS)

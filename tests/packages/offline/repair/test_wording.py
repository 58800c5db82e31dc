"""Texts that a failing assertion found: where a source writes them, and how they must read."""

from __future__ import annotations

import asyncio
from pathlib import Path
from textwrap import dedent, indent

import pytest

from packages.offline.repair.engine.repair_engine import repair
from packages.offline.repair.localize.coverage_spectrum import Spectrum, Test
from packages.offline.repair.localize.literal_hints import promote_literal_suspects
from packages.offline.repair.localize.statement_ranking import rank_statements
from packages.offline.repair.result import Outcome
from packages.offline.repair.templates import Source
from packages.offline.repair.templates.support.rewording import find_rewordings
from tests.tools.workspaces import workspace

FOUND, WANTED = "it must be in [HH:[MM:]]ss format", "it must be in [[HH:]MM:]ss format"
# The message is looked up by its name, so that no statement which the test runs reads it.
TEXT = dedent("""\
    class Field:
        \"\"\"A field: it must be in [HH:[MM:]]ss format.\"\"\"

        messages = {"invalid": "%s must be in "
                               "[HH:[MM:]]ss format"}

        def check(self, value):
            # it must be in [HH:[MM:]]ss format
            text = getattr(self, NAME)["invalid"]
            raise ValueError(text % value)
    """)
FAILING = Test(index=0, id="t.py::test", file="t.py", standing="failed", lines={"a.py": frozenset({9, 10})})


def made(written: str, found: str, wanted: str) -> list[str]:
    every = find_rewordings(written, [(found, wanted)])
    return [written[: each.start] + each.text + written[each.end :] for each in every]


@pytest.mark.parametrize(
    ("written", "found", "wanted", "expected"),
    [
        ("'no such file: %s'", "no such file: a.txt", "no such path: a.txt", "'no such path: %s'"),
        ("'%s (%d) are left'", "bytes (3) are left", "bytes (3) is left", "'%s (%d) is left'"),
        ("'end'", "the end", "the END", "'END'"),  # a whole literal may be short
        ("f'{a}: {b} wanted'", "1: 2 wanted", "1: 2 was wanted", "f'{a}: {b} was wanted'"),
        ("'[HH:[MM:]]ss'", "[HH:[MM:]]ss", "[[HH:]MM:]ss", "'[[HH:]MM:]ss'"),  # several differences at once
    ],
)
def test_a_literal_is_made_to_read_as_wanted(written: str, found: str, wanted: str, expected: str) -> None:
    assert expected in made(written, found, wanted)


@pytest.mark.parametrize(
    ("written", "found", "wanted"),
    [
        ("'a' + b + 'c'", "abc", "adc"),  # what differs is filled in
        ("end", "the end", "the END"),  # a short text that is no literal
        ("'is it'", "this it is", "this it was"),  # too little is the same
        ("'no such file'", "no such file", "no such file"),
        ("'one line'", "one line", "one\nline"),  # an escape would be needed
    ],
)
def test_what_a_literal_does_not_say_is_left(written: str, found: str, wanted: str) -> None:
    assert made(written, found, wanted) == []


def suspects(text: str) -> list[str]:
    sources = {"a.py": Source("a.py", text)}
    ranked = rank_statements(sources, [FAILING], Spectrum(tests=[FAILING], imported={}, complete=True))
    found = promote_literal_suspects(ranked, sources, [(FOUND, WANTED), (WANTED, FOUND)])
    assert found[0].score == ranked[0].score
    assert [each for each in found if each in ranked] == ranked
    return [each.code for each in found]


def test_a_literal_that_says_what_was_found_is_suspected_though_no_statement_reads_it() -> None:
    assert suspects(TEXT)[0] == 'messages = {"invalid": "%s must be in "'
    assert len(suspects(TEXT)) == 3


def test_literals_that_say_less_of_it_and_texts_that_stand_in_many_places_are_no_sign() -> None:
    other = TEXT + 'SHORT = "[HH:[MM:]]ss forms"\n'
    assert suspects(other) == suspects(TEXT)
    repeated = TEXT.replace('format"}', 'format", 1: "[HH:[MM:]]ss format"}')
    assert suspects(repeated)[0] == suspects(TEXT)[0]  # twice in one statement
    many = TEXT + "".join(f'A{n} = "[HH:[MM:]]ss format"\n' for n in range(4))
    assert len(suspects(many)) == 2


PAGE = '''\
    """What a page is made of, by its name."""

    PAGES = {
        "export": """\\
    <html>
    <head><title>{title}, as it was when it was written down, with all that belongs to it and more</title></head>
    <body>
    <pre style="font-family:Menlo,'DejaVu Sans Mono',consolas,'Courier New',monospace">
        <code>{code}</code>
    </pre>
    </body>
    </html>
    """
    }


    def page(name, **values):
        return globals()["PA" + "GES"][name].format(**values)
    '''
WITH_PYTEST = '''\
    from page import page

    EXPECTED = """\\
    <html>
    <head><title>One, as it was when it was written down, with all that belongs to it and more</title></head>
    <body>
    <pre style="font-family:Menlo,'DejaVu Sans Mono',consolas,'Courier New',monospace"><code>1</code>
    </pre>
    </body>
    </html>
    """


    def test_of_the_whole_page():
        found = {"pages": [page("export", title="One", code="1")], "count": 1}
        assert found == {"pages": [EXPECTED], "count": 1}


    def test_of_its_beginning():
        assert page("export", title="One", code="1").startswith("<html>")
    '''


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("framework", ["pytest", "unittest"])
def test_texts_are_compared_whole_where_the_message_shortens_them(tmp_path: Path, framework: str) -> None:
    tests = dedent(WITH_PYTEST)
    if framework == "unittest":
        tests = tests.replace("from page", "from unittest import TestCase\n\nfrom page")
        head, *methods = tests.split("\n\n\ndef ")
        methods = [indent(f"def {each}", "    ").replace("():", "(self):", 1) for each in methods]
        tests = "\n\n\n".join([head, "class TestPage(TestCase):", *methods])
        tests = tests.replace("assert found == {", "self.assertEqual(found, {").replace(
            '"count": 1}\n\n', '"count": 1})\n\n'
        )
        assert "self.assertEqual(found, {" in tests
    result = asyncio.run(repair(workspace(tmp_path, {"page.py": PAGE, "test_page.py": tests}), budget=60.0))
    assert result.outcome is Outcome.FIXED, result.reason
    (fix,) = result.fixes
    assert fix.template == "expected_text"
    assert fix.new.count("\n") == fix.old.count("\n") - 1

"""The page of `sessions stats`: plots and tables by kind of task, model and week, self-contained and safe."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from packages.trace.page.figures_page import group_sessions, render_figures
from packages.trace.session_reports import KEYS
from tests.packages.trace.test_page import HOSTILE, Elements
from tests.packages.trace.test_session_reports import summarize
from tests.packages.trace.written_logs import START, Log
from tests.support import axe
from tests.support.browser import CHROMIUM, MISSING, Browser, open_browser
from tests.support.cli import run
from tests.support.repo import Repo

AXE = axe.find_script()
"""Looked for before a test has a home of its own."""

BEHAVIORS = [
    {
        "behavior": "tests running",
        "good": 1,
        "bad": 2,
        "examples": {"good": "ran them", "bad": "</dd><script>"},
    }
]
WEEK = 7 * 86_400


@pytest.fixture
def summaries(tmp_path: Path) -> list[Any]:
    log = Log(tmp_path / "s1")
    return [
        summarize(log, title="Mend the failing test", cost=0.5, model="small"),
        summarize(log, title="Fix the bug in cart.py", outcome="tests-fail", cost=1.25, model="small"),
        summarize(log, title="What does total do?", outcome="", model="large"),
        summarize(log, title="What is y?", created=START + WEEK, updated=START + WEEK + 600, model=HOSTILE),
        summarize(log, parent="s0", title="a child's"),
    ]


def test_groups_have_their_outcomes_costs_and_times(summaries: list[Any]) -> None:
    found = {key: group_sessions([each for each in summaries if not each.parent], key) for key in KEYS}
    assert [(each.name, each.sessions, each.done, each.failed, each.cost) for each in found["task"]] == [
        ("answer", 2, 1, 0, None),
        ("repair", 2, 1, 1, 1.75),
    ]
    assert [each.sessions for each in found["week"]] == [3, 1]
    assert [each.minutes for each in found["week"]] == [2.0, 10.0]
    assert found["model"][0].name == "small"


def test_the_page_has_no_script_and_its_texts_are_no_markup(summaries: list[Any]) -> None:
    page = render_figures(summaries, BEHAVIORS).decode()
    seen = Elements(page)
    tags = {tag for tag, _ in seen.found}
    assert not tags & {"script", "img", "link", "iframe", "form"}
    names = {name for _, attributes in seen.found for name in attributes}
    assert not names & {"src", "style", "onerror"}
    assert {attributes["href"] for tag, attributes in seen.found if tag == "a"} == {
        "#task", "#model", "#week", "#behaviors",
    }  # fmt: skip
    assert "default-src 'none'; style-src 'sha256-" in page
    assert "4 sessions" in page
    assert "&lt;/dd&gt;&lt;script&gt;" in page
    assert "$1.75" in page


def test_no_sessions_make_a_page_too() -> None:
    assert b"0 sessions" in render_figures([], [])


@pytest.mark.slow
def test_the_command_writes_a_new_private_file(tmp_path: Path) -> None:
    shop = Repo(tmp_path / "shop").root
    done = run("sessions", "stats", "--page", "stats.html", cwd=shop)
    assert (done.code, done.out.strip()) == (0, "stats.html")
    assert (shop / "stats.html").stat().st_mode & 0o777 == 0o600
    again = run("sessions", "stats", "--page", "stats.html", cwd=shop)
    assert again.code == 2
    assert "exists" in again.err
    assert run("sessions", "triage", "--page", "x.html", cwd=shop).code == 2


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with open_browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason=MISSING)
def test_a_browser_shows_it_in_light_and_dark_by_keyboard_and_on_paper(
    browser: Browser, tmp_path: Path, summaries: list[Any]
) -> None:
    path = tmp_path / "stats.html"
    path.write_bytes(render_figures(summaries, BEHAVIORS))
    browser.requests.clear()
    browser.complaints.clear()
    browser.open(path.as_uri())
    browser.wait_for("document.readyState === 'complete'")
    assert browser.evaluate("document.querySelectorAll('svg rect').length") >= 8
    paper = "getComputedStyle(document.body).backgroundColor"
    shades = []
    for scheme in ("light", "dark"):
        browser.set_media(prefers_color_scheme=scheme)
        shades.append(browser.evaluate(paper))
        assert browser.evaluate("getComputedStyle(document.querySelector('rect.done')).fill") != shades[-1]
    assert shades[0] != shades[1]
    browser.set_media()
    browser.evaluate("document.querySelector('summary').focus()")
    browser.press("Enter")
    browser.wait_for("document.querySelector('details').open")
    assert browser.print_page().startswith(b"%PDF")
    assert browser.complaints == []
    assert {each.partition("#")[0] for each in browser.requests} == {path.as_uri()}


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason=MISSING)
@pytest.mark.skipif(AXE is None, reason=axe.MISSING)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault_in_it(
    browser: Browser, tmp_path: Path, summaries: list[Any], scheme: str
) -> None:
    assert AXE is not None
    path = tmp_path / "stats.html"
    path.write_bytes(render_figures(summaries, BEHAVIORS))
    browser.set_media(prefers_color_scheme=scheme)
    browser.open(path.as_uri())
    browser.wait_for("document.readyState === 'complete'")
    browser.evaluate(f"{AXE.read_text('utf-8')};0")
    faults = "axe.run().then((found) => found.violations.map((each) => [each.impact, each.id, each.nodes[0].html]))"
    assert [each for each in browser.evaluate(faults) if each[0] in ("serious", "critical")] == []

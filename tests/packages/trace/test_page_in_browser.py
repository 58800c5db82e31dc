"""The page in a real browser: it opens, searches, filters, follows; nothing of a session runs, no request leaves."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from packages.trace.page.page import render_page
from packages.trace.page.page_server import TracedSession, open_server
from packages.trace.rows.traced_sessions import read_traces
from tests.packages.trace.test_page import hostile_log
from tests.packages.trace.written_logs import Log
from tests.support import axe
from tests.support.browser import CHROMIUM, MISSING, Browser, open_browser
from tests.support.trace_pictures import take_pictures

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason=MISSING)]

AXE = axe.find_script()
"""Looked for before a test has a home of its own."""

ROWS = "[...document.querySelectorAll('.row .what')].map((each) => each.textContent)"
DETAIL = "document.getElementById('detail').innerText"
DRAWN = "performance.getEntriesByName('drawn').length === 1"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with open_browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


def write(log: Log, folder: Path) -> str:
    path = folder / "page.html"
    path.write_bytes(render_page(read_traces(log.folder)))
    return path.as_uri()


def show(browser: Browser, address: str) -> None:
    browser.requests.clear()
    browser.complaints.clear()
    browser.open(address)
    browser.wait_for(DRAWN)


def check_quiet(browser: Browser, address: str) -> None:
    assert browser.complaints == []
    assert {each.partition("#")[0] for each in browser.requests} == {address.partition("#")[0]}


def work(folder: Path) -> Log:
    log = Log(folder)
    log.prompt("Mend the cart")
    log.step(
        "read",
        {"path": "cart.py"},
        "needle in here",
        usage={"input": 100, "cached": 50, "output": 3, "cost": 0.01},
    )
    log.step("edit", {"path": "cart.py"}, "changed", diff="--- a\n+++ b\n-old\n+new\n")
    log.tests(1, "t.py::a", message="assert 1 == 2")
    log.event(
        "compaction", stage="masking", masked={"e5": ""}, tokens_before=900, tokens_after=100, reason="full"
    )
    log.event("child", child="s2", state="started", agent="explore", prompt="look")
    Log(folder.parent / "s2").say("the child's words")
    log.end("not-achieved", 1)
    return log


def test_it_opens_searches_filters_and_links_by_keyboard(browser: Browser, tmp_path: Path) -> None:
    address = write(work(tmp_path / "s1"), tmp_path)
    show(browser, address)
    assert len(browser.evaluate(ROWS)) == 8
    browser.press("n")
    assert browser.evaluate("location.hash") == "#step-3"
    assert "Tests: 1 passed, 1 failed" in browser.evaluate(DETAIL)
    browser.press("k")
    assert browser.evaluate("location.hash") == "#step-2"
    assert browser.evaluate("document.querySelectorAll('#detail .add').length") == 2
    browser.press("/")
    browser.type("needle")
    browser.wait_for("document.getElementById('count').textContent === '1 of 8'")
    browser.press("Enter")
    assert browser.evaluate("location.hash") == "#step-1"
    assert browser.evaluate("document.querySelector('#detail mark').textContent") == "needle"
    browser.evaluate(
        "const s = document.getElementById('search'); s.value = ''; s.dispatchEvent(new Event('input'))"
    )
    browser.evaluate(
        "const f = document.getElementById('filter'); f.value = 'changes'; f.dispatchEvent(new Event('change'))"
    )
    browser.wait_for("document.getElementById('count').textContent === '1 of 8'")
    assert browser.evaluate(ROWS) == ["edit cart.py"]
    check_quiet(browser, address)


def test_a_column_of_a_chart_is_chosen_by_keyboard(browser: Browser, tmp_path: Path) -> None:
    log = Log(tmp_path / "s1")
    for number in range(1, 5):
        log.step("read", {"path": f"{number}.py"}, "x", usage={"input": 100 * number, "output": 3})
        log.tests(1, "t.py::a", message="assert 1 == 2")
    address = write(log, tmp_path)
    show(browser, address)
    chart = "[...document.querySelectorAll('#charts svg')].find((each) => each.dataset.title === 'Tests of each run')"
    told = f"{chart}.getAttribute('aria-valuetext')"
    browser.evaluate(f"{chart}.focus()")
    first = browser.evaluate(told)
    browser.press("ArrowRight")
    assert browser.evaluate(told) != first
    assert browser.evaluate("location.hash") == "", "a column is looked at before it is chosen"
    browser.press("Enter")
    second = browser.evaluate("location.hash")
    assert second == f"#step-{browser.evaluate(told).removeprefix('step ').partition(':')[0]}"
    assert browser.evaluate(f"document.activeElement === {chart}"), "one goes on from there"
    browser.press("End")
    browser.press("Enter")
    assert browser.evaluate("location.hash") not in ("", second)
    assert browser.evaluate(f"{chart}.getAttribute('aria-valuenow')") == "4"
    browser.press("Escape")
    assert browser.evaluate("document.activeElement.id") == "list"
    check_quiet(browser, address)


def test_a_deep_link_opens_its_step_and_that_of_a_child(browser: Browser, tmp_path: Path) -> None:
    address = write(work(tmp_path / "s1"), tmp_path)
    show(browser, f"{address}#step-2")
    assert browser.evaluate(DETAIL).startswith("Step 2")
    browser.evaluate("location.hash = '#s2.step-1'")
    browser.wait_for(f'{DETAIL}.includes("the child\'s words")')
    check_quiet(browser, address)


def test_nothing_that_a_session_holds_runs_or_is_markup(browser: Browser, tmp_path: Path) -> None:
    address = write(hostile_log(tmp_path / "s1"), tmp_path)
    show(browser, address)
    for key in "jjjjjj":
        browser.press(key)
        assert browser.evaluate("window.broken") is None
    assert browser.evaluate("document.querySelectorAll('img, style').length") == 1, "our own style"
    assert browser.evaluate("getComputedStyle(document.body).display") == "flex"
    assert "<U+202E>" in browser.evaluate("document.body.innerText")
    check_quiet(browser, address)


def test_the_policy_stops_a_script_that_gets_into_the_page(browser: Browser, tmp_path: Path) -> None:
    show(browser, write(work(tmp_path / "s1"), tmp_path))
    browser.evaluate(
        "const s = document.createElement('script'); s.textContent = 'window.broken = 1'; document.body.append(s)"
    )
    assert browser.evaluate("window.broken") is None
    assert browser.evaluate("fetch('https://example.org/').then(() => 'sent', () => 'stopped')") == "stopped"


def test_ten_thousand_steps_are_drawn_as_they_are_seen(browser: Browser, tmp_path: Path) -> None:
    log = Log(tmp_path / "s1")
    with (log.folder / "log.jsonl").open("a", encoding="utf-8") as file:
        for number in range(2, 10_002):
            about = {"id": f"e{number}", "parent": f"e{number - 1}", "time": 1, "kind": "message"}
            file.write(json.dumps({"v": 2, **about, "text": f"word {number}"}) + "\n")
    address = write(log, tmp_path)
    show(browser, address)
    assert browser.evaluate("document.querySelectorAll('.row').length") < 100
    browser.press("End")
    assert browser.evaluate("location.hash") == "#step-10000"
    assert browser.evaluate(DETAIL).startswith("Step 10000")
    browser.evaluate(
        "const s = document.getElementById('search'); s.value = 'word 777'; s.dispatchEvent(new Event('input'))"
    )
    browser.wait_for("document.getElementById('count').textContent === '11 of 10,001'")
    assert browser.evaluate("document.querySelectorAll('.row').length") < 100
    check_quiet(browser, address)


def test_it_is_dark_where_all_is_and_prints(browser: Browser, tmp_path: Path) -> None:
    show(browser, write(work(tmp_path / "s1"), tmp_path))
    paper = "getComputedStyle(document.body).backgroundColor"
    browser.set_media(prefers_color_scheme="light")
    light = browser.evaluate(paper)
    browser.set_media(prefers_color_scheme="dark")
    assert browser.evaluate(paper) != light
    browser.set_media()
    assert browser.print_page().startswith(b"%PDF")


def test_every_control_has_a_name_and_the_list_tells_what_is_chosen(browser: Browser, tmp_path: Path) -> None:
    show(browser, write(work(tmp_path / "s1"), tmp_path))
    browser.press("j")
    unnamed = (
        "[...document.querySelectorAll('button, input, select, [role]')].filter((each) => !(each.textContent.trim()"
        " || each.getAttribute('aria-label') || (each.labels && each.labels.length))).map((each) => each.outerHTML)"
    )
    assert browser.evaluate(unnamed) == []
    chosen = "document.getElementById(document.getElementById('list').getAttribute('aria-activedescendant'))"
    assert browser.evaluate(f"{chosen}.getAttribute('aria-selected')") == "true"


@pytest.mark.skipif(AXE is None, reason=axe.MISSING)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(browser: Browser, tmp_path: Path, scheme: str) -> None:
    assert AXE is not None
    browser.set_media(prefers_color_scheme=scheme)
    show(browser, f"{write(work(tmp_path / 's1'), tmp_path)}#step-2")
    browser.evaluate(f"{AXE.read_text('utf-8')};0")
    faults = "axe.run().then((found) => found.violations.map((each) => [each.impact, each.id, each.nodes[0].html]))"
    serious = [each for each in browser.evaluate(faults) if each[0] in ("serious", "critical")]
    browser.set_media()
    assert serious == []
    browser.evaluate("const i = document.createElement('img'); i.src = 'data:,'; document.body.append(i)")
    assert "image-alt" in [each[1] for each in browser.evaluate(faults)], "it looks"


def test_pictures_for_the_docs_are_made_of_it(tmp_path: Path) -> None:
    made = take_pictures(tmp_path)
    assert [each.name for each in made] == ["trace-light.png", "trace-dark.png"]
    assert all(each.read_bytes().startswith(b"\x89PNG") for each in made)
    assert made[0].read_bytes() != made[1].read_bytes()


def test_it_follows_a_session_that_runs(browser: Browser, tmp_path: Path) -> None:
    log = work(tmp_path / "s1")
    server = open_server(TracedSession(log.folder), "secret-token")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        show(browser, f"http://127.0.0.1:{server.server_port}/?token=secret-token")
        log.say("A new reply <b>")
        browser.wait_for(f"{ROWS}.includes('A new reply <b>')")
        log.event("child", child="s3", state="started", agent="late")
        Log(tmp_path / "s3")
        browser.wait_for("document.getElementById('tree').textContent.includes('late')")
        assert browser.complaints == []
        assert {each.split("?")[0] for each in browser.requests} == {
            f"http://127.0.0.1:{server.server_port}/", f"http://127.0.0.1:{server.server_port}/rows",
        }  # fmt: skip
        browser.open("about:blank")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

"""The page: one file, no text of the session in it as markup, redacted, bounded."""

from __future__ import annotations

import json
import re
import resource
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from packages.trace.page import page as page_module
from packages.trace.page.page import LONGEST_TEXT, encode_for_page, render_page
from packages.trace.page.page_file import write_new_page
from packages.trace.rows.traced_sessions import read_traces
from sandbox.errors import UserError
from tests.packages.trace.written_logs import Log

ASSETS = Path(page_module.__file__).parent

HOSTILE = (
    "</script><script>window.broken = 1</script><!--<script>"
    '<img src=x onerror="window.broken=1"><style>*{display:none}</style>@SCRIPT@@DATA@ \u2028 \u202e \x1b]0;x\x07'
)


class Elements(HTMLParser):
    """Elements of a page, and the text of its scripts by id."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.blocks: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        tag, attributes = self.found[-1] if self.found else ("", {})
        if tag == "script" and data.strip():
            self.blocks[attributes.get("id") or ""] = data


def hostile_log(folder: Path) -> Log:
    log = Log(folder)
    log.prompt(HOSTILE)
    log.step("shell", {"command": HOSTILE}, HOSTILE, text=HOSTILE, diff=HOSTILE, failed=True)
    log.event("signal", name=HOSTILE, detail=HOSTILE)
    log.event("child", child=HOSTILE, state="started", agent=HOSTILE)
    log.end(HOSTILE, 1, summary=HOSTILE)
    return log


def test_texts_of_the_session_are_data_in_the_page_and_no_markup(tmp_path: Path) -> None:
    plain = Log(tmp_path / "plain")
    plain.prompt("x")
    expected = Elements(render_page(read_traces(plain.folder)).decode())
    text = render_page(read_traces(hostile_log(tmp_path / "s1").folder)).decode()
    seen = Elements(text)
    assert [tag for tag, _ in seen.found] == [tag for tag, _ in expected.found]
    assert json.loads(seen.blocks["block-0-0"])[1]["text"] == HOSTILE
    assert not re.search(r"[\u2028\u202e\x1b\x07]", text)
    assert not [
        attributes for _, attributes in seen.found if {"src", "href", "style", "onerror"} & {*attributes}
    ]


def test_the_policy_allows_the_page_its_own_script_and_style_alone(tmp_path: Path) -> None:
    log = Log(tmp_path / "s1")
    seen = Elements(render_page(read_traces(log.folder)).decode())
    [policy] = [
        each["content"] for tag, each in seen.found if each.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "connect-src" not in policy
    assert "unsafe" not in policy
    script = (ASSETS / "trace_page.js").read_text("utf-8")
    assert seen.blocks[""].strip().endswith(script.strip()[-100:])
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|setTimeout\(['\"]", script
    )


def test_secrets_are_redacted_again(tmp_path: Path) -> None:
    log = Log(tmp_path / "s1")
    key = "sk-ant-api03-" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9" * 3
    log.prompt(f"use {key}")
    log.step("shell", {"command": f"curl -H {key}"}, f"got {key}")
    text = render_page(read_traces(log.folder)).decode()
    assert key not in text
    assert text.count("[redacted]") >= 3


def test_a_page_is_bounded_by_cutting_its_longest_texts_in_the_middle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log(tmp_path / "s1")
    for number in range(20):
        log.step("read", {"path": "a.py"}, f"begin {number} {'x' * 20_000} end {number}")
    log.step("read", {"path": "b.py"}, "y" * (LONGEST_TEXT + 1))
    traces = read_traces(log.folder)
    whole = Elements(render_page(traces).decode()).blocks
    assert json.loads(whole["data"])["cut"] == 0
    assert "1 characters are not on this page" in whole["block-0-0"]
    monkeypatch.setattr(page_module, "MOST_CHARACTERS", 50_000)
    page = render_page(traces).decode()
    data = json.loads(Elements(page).blocks["data"])
    assert 0 < data["cut"] < 3_000
    assert "begin 7 " in page
    assert " end 7" in page
    assert len(page) < 130_000


def test_a_page_for_which_the_disk_has_no_room_leaves_no_file(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(UserError, match="cannot write"):
            write_new_page(tmp_path / "page.html", b"x" * 100_000, "")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_json_for_a_page_is_the_same_when_parsed() -> None:
    value = {"a": "</SCRIPT \u2029 é \U0001f600 <!--", "b": [1, None, True]}
    text = encode_for_page(value)
    assert json.loads(text) == value
    assert "<" not in text


@pytest.mark.skipif(shutil.which("node") is None, reason="no node is installed: apt-get install nodejs")
@pytest.mark.slow
def test_the_script_of_the_page_finds_rows_addresses_and_hidden_characters(tmp_path: Path) -> None:
    check = """
const told = {
  seen: [findSeen(0, 240, 10000), findSeen(240000, 240, 10000), findSeen(0, 240, 3)],
  addresses: ["#step-12", "#e40", "#s-2.step-3", "#step-", "#x<y"].map(parseAddress),
  visible: makeVisible("a\\u202eb\\r\\nc\\u001b[1m\\ud83d\\ude00"),
  times: [1795613000.5, 0, undefined, 1e14].map(formatTime),
  columns: groupColumns(Array.from({length: 10000}, (_, at) => ({sum: at % 100})), 180).length,
  first: new Traced({
    rows: [[0,"e1","prompt","x"],[1,"e2","step","y",0,0,true,true],[2,"e3","step","z",0,0,true,false]], block: 2
  }, 0).findFirstError(),
};
console.log(JSON.stringify(told));
"""
    script = tmp_path / "check.js"
    script.write_text((ASSETS / "trace_page.js").read_text("utf-8") + check, "utf-8")
    done = subprocess.run(["node", str(script)], capture_output=True, text=True, timeout=60, check=True)
    told: dict[str, Any] = json.loads(done.stdout)
    assert told["seen"] == [[0, 18], [9992, 10000], [0, 3]]
    assert [each and (each["session"], each["step"], each["event"]) for each in told["addresses"]] == [
        ("", 12, ""), ("", 0, "e40"), ("s-2", 3, ""), None, None,
    ]  # fmt: skip
    assert told["visible"] == "a<U+202E>b\nc\\x1b[1m\U0001f600"
    assert told["times"] == ["2026-11-25T13:23:20.500Z", "", "", ""]
    assert told["columns"] <= 180
    assert told["first"] == 2

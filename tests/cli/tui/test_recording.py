"""Long recordings in tmux: windows that change, turns that are stopped, keys typed while an answer streams."""

from __future__ import annotations

import random
import re
import shutil
import string
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from cli.tui.screen.working_line import SPINNER
from tests.cli.tui.test_tmux import Tmux
from tests.support import cli
from tests.support.cli import call, script
from tests.support.raw_endpoint import RawAnswer, RawEndpoint, format_event
from tests.support.talking import log_of, wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed here"),
]

INTERRUPTIONS, RESIZES = 50, 4
"""Turns that are stopped, and changes of the window in each: 200 in all."""


def test_200_resizes_and_50_interruptions_draw_no_line_twice(shop: Path) -> None:
    """Every line is there once, and nothing of the redrawn region is left above it."""
    sizes = random.Random(61)
    turns: list[dict[str, object]] = []
    for number in range(INTERRUPTIONS):
        block = f"touch started{number}; sleep 600"
        turns += [
            {"text": f"Answer {number:02} comes first.", "calls": [call("shell", command=block)]},
            {"text": f"Stopped {number:02} in time."},
        ]
    argv = [*cli.PATCHWRIGHT, "--tests", "true", "--model", script(shop.parent, turns)]
    tmux = Tmux(shop, argv, 80, 24)
    try:
        tmux.do("set", "-g", "escape-time", "0")
        tmux.wait("⇧⇥")
        for number in range(INTERRUPTIONS):
            tmux.type(f"ask {number:02}", "Enter")
            wait_until((shop / f"started{number}").exists)
            for _ in range(RESIZES):
                columns, rows = sizes.randint(40, 120), sizes.randint(12, 40)
                tmux.do("resize-window", "-x", f"{columns}", "-y", f"{rows}")
                time.sleep(sizes.uniform(0, 0.2))
            tmux.type("Escape")
            wait_until(lambda number=number: _count_ends(shop) == number + 1)
        tmux.wait("⇧⇥")
        tmux.do("resize-window", "-x", "100", "-y", "30")
        whole = tmux.settle()
    finally:
        tmux.close()
    numbers = [f"{number:02}" for number in range(INTERRUPTIONS)]
    for line in ("❯ ask {}", "Answer {} comes first.", "Stopped {} in time."):
        seen = re.findall(line.format(r"(\d\d)"), whole)
        assert seen == numbers, f"{line}\n{whole}"
    assert not set(SPINNER) & set(whole), whole
    assert whole.count("⇧⇥") == whole.count("❯ say what to do") == 1, whole
    assert len(re.findall("^─+$", whole, re.MULTILINE)) == 2, "the rules around the prompt\n" + whole


def _count_ends(shop: Path) -> int:
    return sum(event["kind"] == "end" for event in log_of(shop))


def test_none_of_1000_keys_is_lost_while_an_answer_streams(shop: Path) -> None:
    pace = random.Random(1000)
    typed = "".join(pace.choice(string.ascii_lowercase + string.digits + "  ") for _ in range(1000)).strip()
    is_typed = threading.Event()
    with RawEndpoint(lambda request, before: RawAnswer(pieces=_stream_until(is_typed))) as endpoint:
        argv = [*cli.PATCHWRIGHT, "--tests", "true", "--model", "openai/local", "--api-base", endpoint.url]
        tmux = Tmux(shop, argv, 100, 30)
        try:
            tmux.wait("⇧⇥")
            tmux.type("go", "Enter")
            tmux.wait("Paragraph 3 of")
            for key in typed:
                tmux.type("-l", key)
                time.sleep(pace.uniform(0.005, 0.05))
            tmux.wait("esc to stop")
            tmux.type("Enter")
            is_typed.set()
            wait_until(lambda: len(endpoint.requests) == 2)
        finally:
            is_typed.set()
            tmux.close()
    said = [event["text"] for event in log_of(shop) if event["kind"] in ("steer", "prompt")]
    assert said == ["go", typed]


def _stream_until(is_over: threading.Event) -> Iterator[bytes]:
    """Yield an answer of many paragraphs, word by word, until it is over."""
    for number in count():
        for word in f"Paragraph {number} of an answer, **written** as `code`.\n\n".split(" "):
            yield format_event({"choices": [{"index": 0, "delta": {"content": f"{word} "}}]})
            time.sleep(0.005)
        if is_over.is_set():
            yield format_event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
            yield format_event("[DONE]")
            return

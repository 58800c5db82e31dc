"""A headless Chromium that a test drives by the DevTools protocol over two pipes: no port, no package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from select import select
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
MISSING = "no Chromium is installed: apt-get install chromium"

PATIENCE = 60.0
"""Seconds for an answer: a loaded machine starts a browser slowly."""


_START = """
import fcntl, os, sys
read, write = (fcntl.fcntl(int(each), fcntl.F_DUPFD, 20) for each in sys.argv[1:3])
os.dup2(read, 3), os.dup2(write, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""The browser reads commands from descriptor 3 and answers to 4, which may be those of the pipes themselves."""


class Browser:
    """One page. complaints: errors of the console and uncaught ones; requests: addresses that were asked for"""

    def __init__(self, process: subprocess.Popen[bytes], write: int, read: int) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._process, self._write, self._read = process, write, read
        self._buffer = b""
        self._last = 0
        self._loaded = False
        self._session = ""
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._ask(f"{domain}.enable")

    def open(self, address: str) -> None:
        """Open an address, wait until it is loaded."""
        self._loaded = False
        self._ask("Page.navigate", url=address)
        end = time.monotonic() + PATIENCE
        while not self._loaded:
            self._take(end)

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        answer = self._ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + PATIENCE
        while not self.evaluate(expression):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.05)

    def press(self, key: str) -> None:
        """Press a key, as a person does."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self._ask("Input.dispatchKeyEvent", type=kind, key=key, **(text if kind == "keyDown" else {}))

    def type(self, text: str) -> None:
        """Type a text into what has the focus."""
        self._ask("Input.insertText", text=text)

    def set_media(self, media: str = "", **features: str) -> None:
        """Show the page as in print, or in a dark surrounding."""
        listed = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self._ask("Emulation.setEmulatedMedia", media=media, features=listed)

    def set_size(self, width: int, height: int) -> None:
        """Set the size of the window."""
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def take_picture(self) -> bytes:
        """Return the window as PNG."""
        return b64decode(self._ask("Page.captureScreenshot", format="png")["data"])

    def print_page(self) -> bytes:
        """Return the page as PDF."""
        return b64decode(self._ask("Page.printToPDF")["data"])

    def _ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._last += 1
        number = self._last
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + PATIENCE
        while True:
            answer = self._take(end)
            if answer.get("id") == number:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result

    def _take(self, end: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select([self._read], [], [], max(0.0, end - time.monotonic()))
            assert ready, "the browser does not answer"
            part = os.read(self._read, 1 << 20)
            assert part, "the browser has ended"
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, about: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(about["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.complaints.append(json.dumps(about["args"]))
        elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.complaints.append(about["entry"]["text"])


@contextmanager
def open_browser(folder: Path) -> Iterator[Browser]:
    """Start a browser whose files are below a folder; end it with the block."""
    assert CHROMIUM is not None, MISSING
    to_browser, from_us = os.pipe()
    from_browser, to_us = os.pipe()
    command = [
        *(CHROMIUM, "--headless", "--remote-debugging-pipe", f"--user-data-dir={folder / 'profile'}"),
        *("--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking"),
        *("--disable-component-update", "--disable-sync", "--no-proxy-server"),
        *(["--no-sandbox"] if os.geteuid() == 0 else []),
    ]
    with (folder / "browser.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", _START, str(to_browser), str(to_us), *command],
            pass_fds=(to_browser, to_us), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip
    os.close(to_browser)
    os.close(to_us)
    try:
        yield Browser(process, from_us, from_browser)
    finally:
        os.close(from_us)
        os.close(from_browser)
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

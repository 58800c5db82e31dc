"""A small language server for Python's words: as slow, forgetful and wordy as the real ones, in a known way.

It knows `def NAME`, `from MODULE import NAME` and words. TWIN holds letters that choose its habits:
    s: it has read the project only 1.5 s after its start, under progress; before that it knows open files alone
    n: it never reads the project, and answers no question about files that are not open at its start
    d: it registers pulls of diagnostics; else it publishes them, without a version
    l: its messages name lines: "as on line N"
    q: it is silent about diagnostics
Files on the disk are read once, and again only when it is told that they changed.
It refuses `shutdown` with parameters.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
from pathlib import Path
from typing import Any

HABITS = os.environ.get("TWIN", "")
LOAD = 1.5
lock = threading.Lock()
opened: dict[str, str] = {}
disk: dict[str, str] = {}
root = Path()
loaded = threading.Event()


def tell(**message: Any) -> None:
    data = json.dumps({"jsonrpc": "2.0", **message}).encode()
    with lock:
        sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        sys.stdout.buffer.flush()


def read_disk(path: str) -> None:
    try:
        disk[path] = (root / path).read_text()
    except OSError:
        disk.pop(path, None)


def load() -> None:
    if "s" in HABITS:
        tell(id="p", method="window/workDoneProgress/create", params={"token": 7})
        tell(method="$/progress", params={"token": 7, "value": {"kind": "begin", "title": "reading"}})
        time.sleep(LOAD)
    if "n" not in HABITS:
        loaded.set()
    if "s" in HABITS:
        tell(method="$/progress", params={"token": 7, "value": {"kind": "end"}})
    for path in list(opened):
        publish(path)


def texts() -> dict[str, str]:
    return ({**disk, **opened}) if loaded.is_set() else dict(opened)


def diagnose(path: str) -> list[dict[str, Any]]:
    found = []
    known = {**disk, **opened}
    for number, line in enumerate(opened.get(path, "").split("\n")):
        match = re.match(r"from (\w+) import (\w+)", line)
        if match and loaded.is_set() and f"def {match[2]}(" not in known.get(f"{match[1]}.py", ""):
            found.append((number, "import", f"{match[1]} has no {match[2]}"))
        if "bad" in line:
            found.append((number, "bad", f"bad, as on line {number + 1}" if "l" in HABITS else "bad"))
    return [
        {
            "range": {"start": {"line": n, "character": 0}, "end": {"line": n, "character": 1}},
            "severity": 1,
            "code": code,
            "message": message,
        }
        for n, code, message in found
    ]


def publish(path: str) -> None:
    if "d" not in HABITS and "q" not in HABITS:
        uri = (root / path).as_uri()
        tell(method="textDocument/publishDiagnostics", params={"uri": uri, "diagnostics": diagnose(path)})


def find(name: str) -> list[tuple[str, int, int]]:
    return [
        (path, number, match.start())
        for path, text in sorted(texts().items())
        for number, line in enumerate(text.split("\n"))
        for match in re.finditer(rf"\b{name}\b", line)
    ]


def span(path: str, line: int, start: int, name: str) -> dict[str, Any]:
    place = {
        "start": {"line": line, "character": start},
        "end": {"line": line, "character": start + len(name)},
    }
    return {"uri": (root / path).as_uri(), "range": place}


def answer(method: str, params: Any) -> Any:
    path = str(Path(params["textDocument"]["uri"].removeprefix("file://")).relative_to(root))
    if method == "textDocument/diagnostic":
        return {"kind": "full", "items": diagnose(path)}
    at = params["position"]
    line = opened[path].split("\n")[at["line"]]
    name = re.match(r"\w+", line[at["character"] :])[0]  # type: ignore[index]
    places = find(name)
    if "n" in HABITS:
        places = [each for each in places if each[0] == path and f"def {name}(" in opened[path]]
    if method == "textDocument/definition":
        defined = [each for each in places if f"def {name}(" in texts()[each[0]].split("\n")[each[1]]]
        return [span(*each, name) for each in defined]
    if method == "textDocument/references":
        return [span(*each, name) for each in places]
    changes: dict[str, list[Any]] = {}
    for each in places:
        found = span(*each, name)
        changes.setdefault(found["uri"], []).append({"range": found["range"], "newText": params["newName"]})
    return {"changes": changes}


def take(method: str, params: Any) -> None:
    if method == "textDocument/didOpen":
        document = params["textDocument"]
        path = str(Path(document["uri"].removeprefix("file://")).relative_to(root))
        opened[path] = document["text"]
        if loaded.is_set():
            publish(path)
    elif method == "textDocument/didChange":
        path = str(Path(params["textDocument"]["uri"].removeprefix("file://")).relative_to(root))
        opened[path] = params["contentChanges"][0]["text"]
        publish(path)
    elif method == "textDocument/didClose":
        opened.pop(str(Path(params["textDocument"]["uri"].removeprefix("file://")).relative_to(root)), None)
    elif method == "workspace/didChangeWatchedFiles":
        for each in params["changes"]:
            read_disk(str(Path(each["uri"].removeprefix("file://")).relative_to(root)))
        for path in list(opened):
            publish(path)


def read() -> Any:
    size = 0
    while line := sys.stdin.buffer.readline().strip():
        name, _, value = line.partition(b":")
        size = int(value) if name.lower() == b"content-length" else size
    return json.loads(sys.stdin.buffer.read(size)) if size else None


while (message := read()) is not None:
    method, params, number = message.get("method"), message.get("params"), message.get("id")
    if method == "initialize":
        root = Path(params["rootUri"].removeprefix("file://"))
        for each in root.glob("*.py"):
            read_disk(each.name)
        tell(id=number, result={"capabilities": {"textDocumentSync": {"change": 1, "save": True}}})
        if "d" in HABITS:
            registration = {
                "id": "1",
                "method": "textDocument/diagnostic",
                "registerOptions": {"identifier": "t"},
            }
            tell(id="r", method="client/registerCapability", params={"registrations": [registration]})
        threading.Thread(target=load, daemon=True).start()
    elif method == "shutdown":
        refusal = {"code": -32602, "message": "shutdown has no parameters"}
        if "params" in message:
            tell(id=number, error=refusal)
        else:
            tell(id=number, result=None)
    elif method == "exit":
        sys.exit(0)
    elif method is not None and number is not None:
        tell(id=number, result=answer(method, params))
    elif method is not None:
        take(method, params)

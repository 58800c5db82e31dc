#!/usr/bin/env bash
# json-repair 0.64.6, loads():
# 1. A valid string changes as soon as something else in the document needs a repair. With a trailing comma behind it
#    "http:\/\/x" keeps both backslashes and "\f" becomes a backslash and an f, while "\b" and "\u00e9" are decoded; a
#    surrogate pair becomes two lone surrogates, which no UTF-8 encoder takes. Without the comma each is decoded.
# 2. JSON Lines: two objects with different keys are a list of two, two with the same keys are the second one alone, so
#    of two tool calls the first is lost. [1] and [2] on two lines are [2].
# 3. An object cut in its first key is a list: {"path gives ["path"]; with a value begun it is an object.
# Exits 0 while this is so, 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib json-repair==0.64.6 2>/dev/null
cat >look.py <<'P'
import sys
from json_repair import loads
same = True
def look(text, then):
    global same
    seen = loads(text)
    print(f"{text!r} -> {seen!r}")
    same &= seen == then
look(r'{"u": "http:\/\/x", "f": "\f", "p": "\ud83d\ude00"}', {"u": "http://x", "f": "\f", "p": chr(0x1F600)})
look(r'{"u": "http:\/\/x", "f": "\f", "p": "\ud83d\ude00",}', {"u": r"http:\/\/x", "f": r"\f", "p": "\ud83d\ude00"})
look(r'{"b": "\b", "e": "\u00e9",}', {"b": "\b", "e": chr(0xE9)})
look('{"name": "read", "path": "a"}\n{"name": "run", "command": "b"}',
     [{"name": "read", "path": "a"}, {"name": "run", "command": "b"}])
look('{"name": "read", "path": "a"}\n{"name": "read", "path": "b"}', {"name": "read", "path": "b"})
look("[1]\n[2]", [2])
look('{"path', ["path"])
look('{"path": "a', {"path": "a"})
sys.exit(not same)
P
PYTHONPATH=lib python3 look.py

#!/usr/bin/env bash
# pyte 0.8.2 against what a terminal shows for the same output:
# 1. A zero-width character that is no combining mark (U+200B, U+200D) ends the drawing of its chunk: of "ab", U+200B,
#    "cd" only "ab" is shown, and the cursor stays behind it. Fed in two pieces "cd" is shown.
# 2. Styles with colons, as ESC [ 4 : 3 m for a curly underline, are cut at the colon and the rest shown as text: "3m".
# 3. The content of device control and application strings (ESC P ... ESC \, ESC _ ... ESC \) is shown as text, though
#    that of operating system commands (ESC ]) is not.
# 4. ESC E, next line, goes down but not to the first column; ESC [ E does both.
# 5. A character written onto the left half of a wide one makes Screen.display raise an IndexError.
# Exits 0 while this is so, 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib pyte==0.8.2 2>/dev/null
cat >look.py <<'P'
import sys
import pyte
same = True
def look(then, *pieces):
    global same
    screen = pyte.Screen(20, 3)
    stream = pyte.Stream(screen)
    for piece in pieces:
        stream.feed(piece)
    try:
        seen = [line.rstrip() for line in screen.display if line.strip()]
    except IndexError as error:
        seen = str(error)
    print(f"{pieces!r} -> {seen!r}")
    same &= seen == then
look(["ab"], "ab\u200bcd")
look(["ab"], "ab\u200dcd")
look(["abcd"], "ab\u200b", "cd")
look(["3mx"], "\x1b[4:3mx")
look(["x"], "\x1b[4mx")
look(["1$r0mx"], "\x1bP1$r0m\x1b\\x")
look(["noticex"], "\x1b_notice\x1b\\x")
look(["x"], "\x1b]0;notice\x1b\\x")
look(["a", " b"], "a\x1bEb")
look(["a", "b"], "a\x1b[Eb")
look("string index out of range", "\u4e16\rx")
sys.exit(not same)
P
PYTHONPATH=lib python3 look.py

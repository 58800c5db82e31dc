#!/usr/bin/env bash
# merge3 1.0.0 (PyPI), Merge3.merge_lines() of files whose last line has no line end, in conflict there: the markers
# follow the text on its line. base a, one side b, other side c give the lines "b=======" and "c>>>>>>> B", so that
# a reader of conflicts, which looks for markers at the start of a line, finds only the first one of three.
# git merge-file puts each marker on a line of its own, as the format needs. One such side alone is enough.
# Exits 0 while this is so, 1 if the behaviour has changed. Seen with git 2.39.5.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib merge3==1.0.0 2>/dev/null
cat >look.py <<'P'
import subprocess, sys
from pathlib import Path
from merge3 import Merge3
same = True
def look(base, ours, theirs, alone):
    """Print both merges; `alone` is how many of the markers of merge3 began a line on writing."""
    global same
    texts = [ours, base, theirs]
    for name, text in zip("ABC", texts):
        Path(name).write_text(text)
    git = subprocess.run(["git", "merge-file", "-p", *"ABC"], capture_output=True, text=True).stdout
    merged = "".join(Merge3(*([*text.splitlines(True)] for text in (base, ours, theirs))).merge_lines("A", "B"))
    counts = [sum(line.startswith(("<<<<<<<", "=======", ">>>>>>>")) for line in text.splitlines())
              for text in (merged, git)]
    print(texts, repr(merged), repr(git), counts)
    same &= counts == [alone, 3]
look("a", "b", "c", 1)
look("a\n", "a\nb", "a\nc\n", 2)
look("a\n", "b\n", "c\n", 3)
sys.exit(not same)
P
PYTHONPATH=lib python3 look.py

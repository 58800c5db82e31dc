#!/usr/bin/env bash
# whatthepatch 1.0.7 on plain output of git, against the counts in the hunk's own header:
# 1. git format-patch ends a patch with the line "-- " and the version. The parser takes that line into the last hunk
#    as a removal of "- ", past the one line that "@@ -1 +1 @@" allows; apply_diff then raises, since the file has no
#    such line.
# 2. For a file a/f (a folder called a) of a repository the old path is "f" and the new one "a/f": one prefix too many
#    goes.
# 3. An unchanged empty line that lost its space (diff.suppressBlankEmpty) is dropped and the lines after it are
#    numbered one too low, so apply_diff raises; git apply and unidiff 1.0.1 take it as a context line.
# Exits 0 while this is so, 1 if the behaviour has changed. Seen with git 2.39.5.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib whatthepatch==1.0.7 2>/dev/null
export HOME=$folder GIT_CONFIG_NOSYSTEM=1
git config --global user.name A && git config --global user.email a@example.invalid
git init -q r && cd r
mkdir a && echo one >a/f && printf 'a\n\nb\n' >g && git add . && git commit -qm first
echo two >a/f && git commit -qam second && git format-patch -q -1 --stdout >../mail.patch
printf 'a\n\nc\n' >g && git -c diff.suppressBlankEmpty=true diff >../blank.patch
git checkout -q g && git apply --check ../blank.patch && git apply -R --check ../mail.patch && echo "git takes both"
cd ..
cat >look.py <<'P'
import sys
import whatthepatch
from whatthepatch.exceptions import HunkApplyException
def tell(name, text):
    diff = list(whatthepatch.parse_patch(open(name).read()))[0]
    paths = (diff.header.old_path, diff.header.new_path)
    changes = [(change.old, change.new, change.line) for change in diff.changes]
    try:
        result = whatthepatch.apply_diff(diff, text)
    except HunkApplyException as error:
        result = str(error)
    print(name, paths, changes, result, sep="\n  ")
    return paths, changes, result
paths, changes, result = tell("mail.patch", "one\n")
same = paths == ("f", "a/f") and changes[-1] == (2, None, "- ") and isinstance(result, str)
paths, changes, result = tell("blank.patch", "a\n\nb\n")
same &= changes == [(1, 1, "a"), (2, None, "b"), (None, 2, "c")] and isinstance(result, str)
sys.exit(not same)
P
PYTHONPATH=lib python3 look.py

#!/usr/bin/env bash
# dulwich 1.2.21, porcelain.status against git status --porcelain of the same repositories:
# 1. A tracked file made executable (chmod +x, core.fileMode true) is " M" in git; dulwich has nothing unstaged.
# 2. A submodule with a changed file is " M" in git; dulwich has it as unstaged and, with a slash, as untracked too.
# 3. A file announced with git add -N is " A" in git, not yet staged; dulwich has it among the staged additions.
# Exits 0 while this is so, 1 if the behaviour has changed. Seen with git 2.39.5.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib dulwich==1.2.21 2>/dev/null
export HOME=$folder GIT_CONFIG_NOSYSTEM=1
git config --global user.name A && git config --global user.email a@example.invalid
git init -q mode && (cd mode && echo a >f && git add f && git commit -qm first && chmod +x f)
git init -q inner && (cd inner && echo a >f && git add f && git commit -qm first)
git init -q outer && (cd outer && git -c protocol.file.allow=always submodule --quiet add ../inner sub &&
  git commit -qm first && echo b >>sub/f)
git init -q announced && (cd announced && echo a >f && git add f && git commit -qm first && echo b >g && git add -N g)
for name in mode outer announced; do
  echo "git, $name: $(git -C $name status --porcelain)"
done
cat >look.py <<'P'
import sys
from dulwich import porcelain
mode, outer, announced = (porcelain.status(name) for name in ("mode", "outer", "announced"))
print(mode, outer, announced, sep="\n")
sys.exit(not (mode.unstaged == [] and outer.unstaged == [b"sub"] and b"sub/" in [bytes(x) for x in outer.untracked]
              and announced.staged["add"] == [b"g"]))
P
PYTHONPATH=lib python3 look.py

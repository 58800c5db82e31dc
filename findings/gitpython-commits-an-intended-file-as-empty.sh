#!/usr/bin/env bash
# GitPython 3.2.1: Repo.index.commit() writes a file that is only announced (git add -N) into the commit, as an empty
# file. git commit leaves such an entry out and keeps it for the next add. The tree made by index.write_tree() holds
# the file too, where git write-tree for the same index does not. A file in conflict: index.diff(None) has it with the
# type U, index.diff(None, create_patch=True) is an empty list.
# Exits 0 while this is so, 1 if the behaviour has changed. Seen with git 2.39.5.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib gitpython==3.2.1 2>/dev/null
export HOME=$folder GIT_CONFIG_NOSYSTEM=1
git config --global user.name A && git config --global user.email a@example.invalid
git init -q announced && cd announced
echo one >old && git add old && git commit -qm first
echo two >new && git add -N new && echo three >third && git add third
echo "tree of git: $(git ls-tree --name-only "$(git write-tree)" | tr '\n' ' ')"
cd .. && git init -q conflict && cd conflict
echo a >f && git add f && git commit -qm first && git checkout -qb side && echo b >f && git commit -qam side
git checkout -q - && echo c >f && git commit -qam main && git merge -q side >/dev/null 2>&1 || true
cd ..
cat >look.py <<'P'
import sys
import git
index = git.Repo("announced").index
made = index.commit("second").tree
print("tree of GitPython:", {blob.name: blob.size for blob in made.blobs})
index = git.Repo("conflict").index
raw = [(change.change_type, change.a_path) for change in index.diff(None)]
patches = list(index.diff(None, create_patch=True))
print("conflict: raw", raw, "patches", patches)
sys.exit(not ("new" in made and made["new"].size == 0 and ("U", "f") in raw and patches == []))
P
PYTHONPATH=lib python3 look.py

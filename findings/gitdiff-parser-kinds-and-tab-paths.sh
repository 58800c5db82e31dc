#!/usr/bin/env bash
# gitdiff-parser 0.3.1 (npm) on plain output of git diff:
# 1. A new empty file and a deleted empty file have the type "modify"; with one line in it they are "add" and "delete".
#    The lines "new file mode" and "deleted file mode" are there in both cases.
# 2. A path with a space has a tab at its end in oldPath and newPath: git ends the --- and +++ lines of such a name with
#    a tab, which is no part of it. parse-diff 0.12.0 and git apply take the name without it.
# 3. Of a file that was only made executable neither mode is given, though the types have oldMode and newMode and a
#    changed file with the same mode has both.
# Exits 0 while this is so, 1 if the behaviour has changed. Seen with git 2.39.5, node 20.20.2.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent gitdiff-parser@0.3.1 parse-diff@0.12.0 >/dev/null 2>&1
git init -q r && cd r
echo one >'my file' && : >gone-empty && echo one >gone-line && echo one >script && git add .
tree=$(git write-tree)
echo two >'my file' && rm gone-empty gone-line && chmod +x script && : >new-empty && echo one >new-line && git add -A
git diff --cached --no-renames "$tree" >../all.patch
cd ..
cat >look.cjs <<'J'
const text = require('fs').readFileSync('all.patch', 'utf8');
const parser = require('gitdiff-parser');
const seen = {}, modes = {};
for (const file of parser.parse(text)) {
  const path = file.newPath === '/dev/null' ? file.oldPath : file.newPath;
  seen[path] = file.type;
  modes[path] = [file.oldMode, file.newMode];
}
const names = require('parse-diff')(text).map(file => file.to);
console.log(seen, modes.script, modes['my file\t'], names);
process.exit(seen['new-empty'] === 'modify' && seen['gone-empty'] === 'modify' && seen['new-line'] === 'add'
  && seen['gone-line'] === 'delete' && 'my file\t' in seen && names.includes('my file')
  && modes.script.join() === ',' && modes['my file\t'].join() === '100644,100644' ? 0 : 1);
J
node look.cjs

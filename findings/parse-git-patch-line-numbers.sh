#!/usr/bin/env bash
# parse-git-patch 2.1.1 (npm) on plain output of git format-patch: the marker "\ No newline at end of file" is counted
# as a line. A file of one line without a line end, of which the line is changed, has its new line as number 2; the
# header of the hunk is @@ -1 +1 @@. The old side is 1. With a line end both are 1.
# Exits 0 while this is so, 1 if the behaviour has changed. Seen with git 2.39.5, node 20.20.2.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export HOME=$folder GIT_CONFIG_NOSYSTEM=1
npm init -y >/dev/null
npm install --no-audit --no-fund --silent parse-git-patch@2.1.1 >/dev/null 2>&1
git config --global user.name A && git config --global user.email a@example.invalid
git init -q r && cd r
printf one >bare && echo one >ended && git add . && git commit -qm first
printf two >bare && echo two >ended && git commit -qam second && git format-patch -q -1 --stdout >../all.patch
cd ..
grep -E '^(@@|[-+\\])' all.patch
cat >look.cjs <<'J'
const parse = require('parse-git-patch').default;
const seen = {};
for (const file of parse(require('fs').readFileSync('all.patch', 'utf8')).files)
  seen[file.afterName] = file.modifiedLines.map(line => (line.added ? '+' : '-') + line.lineNumber).join(' ');
console.log(seen);
process.exit(seen.bare === '-1 +2' && seen.ended === '-1 +1' ? 0 : 1);
J
node look.cjs

#!/usr/bin/env bash
# node --test: a test that calls process.exit(0) makes its whole file one passed test, in every reporter; the tests
# before it are not reported, those after it never run, and the exit status is 0. A file without tests looks the same.
# Exits 0 while this is so, 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent node@22.12.0 >/dev/null 2>&1
node=$(find node_modules -path '*bin/node' -type f | head -n 1)
cat >a.test.js <<'J'
const test = require('node:test');
test('one', () => {});
test('two', () => { process.exit(0); });
test('three', () => { throw new Error('never run'); });
J
status=0
"$node" --test --test-reporter=tap a.test.js >out.txt || status=$?
echo "node $("$node" --version), exit $status"
cat out.txt
[ "$status" = 0 ] && grep -q '^# pass 1$' out.txt && grep -q '^# fail 0$' out.txt && ! grep -q three out.txt

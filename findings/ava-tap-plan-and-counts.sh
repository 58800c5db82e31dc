#!/usr/bin/env bash
# ava 7.0.0 --tap: the plan and the closing counts leave hooks out, though the hooks are numbered test points.
# 1. A failing after hook: ok 1, not ok 2, then the plan 1..1, "# pass 1" and "# fail 0"; the exit status is 1.
# 2. A failing before hook with two tests behind it: one point, not ok 1, and the plan 1..2.
# 3. A file that cannot be loaded: not ok 1 and not ok 2, then 1..0, which in TAP says that all was skipped. Expected:
#    a plan that covers the numbered points, and a "# fail" that is not 0 when a point is "not ok".
# Exits 0 while this is so, 1 if the behaviour has changed. Seen with node 20.20.2.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent ava@7.0.0 >/dev/null 2>&1
cat >after.test.mjs <<'J'
import test from 'ava';
test.after('clean up', () => { throw new Error('hook'); });
test('a', t => t.pass());
J
cat >before.test.mjs <<'J'
import test from 'ava';
test.before('set up', () => { throw new Error('hook'); });
test('a', t => t.pass());
test('b', t => t.pass());
J
echo "throw new Error('load');" >load.test.mjs
for name in after before load; do
  status=0
  npx ava --tap $name.test.mjs >all.txt 2>/dev/null || status=$?
  echo "$name: exit $status"
  grep -E '^(ok|not ok|1\.\.|# (tests|pass|fail))' all.txt | tee $name.txt
done
grep -q '^not ok 2' after.txt && grep -q '^1\.\.1$' after.txt && grep -q '^# fail 0$' after.txt &&
  [ "$(grep -cE '^(not )?ok' before.txt)" = 1 ] && grep -q '^1\.\.2$' before.txt &&
  grep -q '^not ok 1' load.txt && grep -q '^1\.\.0$' load.txt

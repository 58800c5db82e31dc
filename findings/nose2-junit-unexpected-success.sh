#!/usr/bin/env bash
# nose2 0.16.0, plugin junitxml:
# 1. A test marked expectedFailure that passes: nose2 closes with OK (unexpected successes=1) and status 0, where
#    python -m unittest says FAILED and 1 for the same file; the report has it as <skipped message="test passes
#    unexpectedly">, with failures="0" errors="0".
# 2. tests= counts tests, but each failed subtest and class fixture is a <testcase> of its own: tests="1" with two
#    elements for one test with two failing subtests, tests="0" errors="1" for a failing setUpClass, whose test case
#    has the class name "setUpClass (test_b" and the name "B)".
# Exits 0 while this is so, 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib nose2==0.16.0 2>/dev/null
printf '[unittest]\nplugins = nose2.plugins.junitxml\n[junit-xml]\nalways-on = True\n' >unittest.cfg
cat >test_a.py <<'P'
import unittest
class A(unittest.TestCase):
    @unittest.expectedFailure
    def test_mended(self):
        pass
P
cat >test_b.py <<'P'
import unittest
class A(unittest.TestCase):
    def test_parts(self):
        for number in (1, 2):
            with self.subTest(number=number):
                self.fail("part")
class B(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise RuntimeError("set up")
    def test_never(self):
        pass
P
for name in test_a test_b.A test_b.B; do
  status=0
  PYTHONPATH=lib python3 -m nose2 $name 2>&1 | tail -n 1 | tee $name.txt || status=$?
  sed 's/></>\n</g' nose2-junit.xml | grep -oE '<testsuite .*|<testcase.*|<skipped[^>]*>' >$name.xml
  echo "$name: exit $status"
  cat $name.xml
done
{ python3 -m unittest test_a 2>&1 || true; } | tail -n 1 | tee unittest.txt
grep -q 'FAILED (unexpected successes=1)' unittest.txt && grep -q '^OK (unexp' test_a.txt &&
  grep -q 'errors="0" failures="0"' test_a.xml &&
  grep -q '<skipped message="test passes unexpectedly"' test_a.xml &&
  grep -q 'tests="1"' test_b.A.xml && [ "$(grep -c '<testcase' test_b.A.xml)" = 2 ] &&
  grep -q 'tests="0"' test_b.B.xml && grep -q 'classname="setUpClass (test_b" name="B)"' test_b.B.xml

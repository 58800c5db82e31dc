#!/usr/bin/env bash
# junitparser 5.0.3, junitparser merge of two reports whose suites have the same name:
# 1. The system-out of the second suite is gone; its test cases are in the first one, whose system-out stays. Suites
#    with different names keep both.
# 2. A suite inside the second suite is dissolved: its test case is a direct child of the outer suite, beside the inner
#    suite of the first report.
# 3. failures is the number of failure elements: one test case with a failure and a second one (a test and its clean-up)
#    is tests="1" failures="2" after merge, so that tests less failures, errors and skipped is negative.
# Exits 0 while this is so, 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install -q --disable-pip-version-check --target lib junitparser==5.0.3 2>/dev/null
write() { echo "<testsuites><testsuite name=\"$2\">$3</testsuite></testsuites>" >"$1.xml"; }
write first s '<testcase name="x"/><system-out>first output</system-out>'
write second s '<testcase name="y"/><system-out>second output</system-out>'
write other t '<testcase name="y"/><system-out>second output</system-out>'
write inner s '<testsuite name="i"><testcase name="z"/></testsuite>'
write twice u '<testcase name="x"><failure message="test"/><failure message="clean-up"/></testcase>'
for pair in 'first second' 'first other' 'inner inner' 'first twice'; do
  # shellcheck disable=SC2086
  set -- $pair
  PYTHONPATH=lib python3 -m junitparser merge "$1.xml" "$2.xml" "$1-$2.xml"
  sed -i 's/></>\n</g' "$1-$2.xml"
  printf '%s:\n' "$pair"
  grep -vE 'xml version' "$1-$2.xml"
done
grep -q 'first output' first-second.xml && ! grep -q 'second output' first-second.xml &&
  grep -q '<testcase name="y"' first-second.xml && grep -q 'second output' first-other.xml &&
  [ "$(grep -c '<testsuite name="i"' inner-inner.xml)" = 1 ] &&
  [ "$(tr -d '\n' <inner-inner.xml | grep -c '</testsuite><testcase name="z" />')" = 1 ] &&
  grep -qE '<testsuite name="u" tests="1" errors="0" failures="2"' first-twice.xml

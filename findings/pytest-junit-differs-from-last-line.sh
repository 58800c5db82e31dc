#!/usr/bin/env bash
# pytest's JUnit report and its last line disagree: a passing test with one skipped subtest is "1 passed" on the last
# line and a single <skipped> test case in the report, whose suite says tests="3"; a test that pytest-rerunfailures runs
# again is two test cases, of which the failed first run looks passed.
# Exits 0 while this is so, 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check pytest==9.2.0 pytest-rerunfailures==16.7 2>/dev/null
cat >test_sub.py <<'P'
import pytest
def test_a(subtests):
    with subtests.test("one"):
        pass
    with subtests.test("two"):
        pytest.skip("not here")
P
cat >test_again.py <<'P'
import pytest
runs = []
@pytest.mark.flaky(reruns=1)
def test_b():
    runs.append(1)
    assert len(runs) > 1
P
venv/bin/pytest --version
for name in sub again; do
  venv/bin/pytest -p no:cacheprovider --junitxml=$name.xml test_$name.py | tail -n 1 | tee $name.txt
  sed 's/></>\n</g' $name.xml | grep -E '<testsuite |<testcase|<skipped|<failure'
done
grep -q ' 1 passed in' sub.txt && grep -q '<skipped' sub.xml && grep -q 'tests="3"' sub.xml &&
  grep -q ' 1 passed, 1 rerun' again.txt && [ "$(grep -o '<testcase' again.xml | wc -l)" = 2 ] && ! grep -q '<failure' again.xml

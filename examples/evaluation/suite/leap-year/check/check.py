import json
import subprocess
import sys

# In a process of its own: a program that ends it, or whose results equal everything, has answered nothing.
PROGRAM = """
import json
import sys

sys.path.append(".")

from calendar_rules import is_leap

print(json.dumps([is_leap(*each) for each in json.load(sys.stdin)]))
"""


def ask(*calls):
    command = [sys.executable, "-I", "-B", "-c", PROGRAM]
    done = subprocess.run(command, input=json.dumps(calls), capture_output=True, text=True, timeout=10)
    return json.loads(done.stdout)


years = {2024: True, 2000: True, 1900: False, 2023: False}
for year, answer in zip(years, ask(*([year] for year in years))):
    assert answer is years[year], year

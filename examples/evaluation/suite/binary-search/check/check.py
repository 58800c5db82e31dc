import json
import subprocess
import sys

# In a process of its own: a program that ends it, or whose results equal everything, has answered nothing.
PROGRAM = """
import json
import sys

sys.path.append(".")

from search import find

print(json.dumps([find(*each) for each in json.load(sys.stdin)]))
"""


def ask(*calls):
    command = [sys.executable, "-I", "-B", "-c", PROGRAM]
    done = subprocess.run(command, input=json.dumps(calls), capture_output=True, text=True, timeout=10)
    return json.loads(done.stdout)


for size in range(9):
    items = list(range(0, 2 * size, 2))
    calls = [[items, item] for item in items] + [[items, 1]]
    assert ask(*calls) == [*range(size), -1], items

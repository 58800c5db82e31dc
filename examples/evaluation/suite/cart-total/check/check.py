import json
import subprocess
import sys

# In a process of its own: a program that ends it, or whose results equal everything, has answered nothing.
PROGRAM = """
import json
import sys

sys.path.append(".")

from cart import total

print(json.dumps([total(*each) for each in json.load(sys.stdin)]))
"""


def ask(*calls):
    command = [sys.executable, "-I", "-B", "-c", PROGRAM]
    done = subprocess.run(command, input=json.dumps(calls), capture_output=True, text=True, timeout=10)
    return json.loads(done.stdout)


assert ask([[1, 2, 3]], [[5]], [[]]) == [6, 5, 0]

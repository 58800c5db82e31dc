"""The inside of a kernel: runs blocks of Python in the project's own interpreter.

Standard library only, Python 3.8 and later. It runs in the sandbox together with the code that it runs, which
can
change any of it: nothing here is a boundary. The kernel's permissions are decided outside, by the sandbox and
    by the gateway that its calls pass through.
"""

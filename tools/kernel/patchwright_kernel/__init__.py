"""The inside of a kernel: runs blocks of Python in the project's own interpreter.

Standard library only, Python 3.8 and later. It runs in the sandbox beside the code that it runs, which can
change any of it: nothing here is a bound. What a kernel may do is decided outside, by the sandbox and by
the gateway that its calls go through.
"""

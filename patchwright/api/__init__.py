"""The interface for Python programs: sessions in a process of their own, driven by lines of JSON.

Nothing here imports the program itself, whose packages could have the names of yours.
"""

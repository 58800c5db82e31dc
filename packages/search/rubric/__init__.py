"""Rubric of a task: written by a reader of the repository before the work, scored by another one after it.

After "Agentic Rubrics as Contextual Verifiers for SWE Agents": criteria that name the places of this repository judge a
change without running it. An opinion: it is shown, and changes no outcome.
"""

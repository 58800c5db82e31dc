"""Check of a task before the work: contradictions and loopholes in its prompt, the user's rules and the tests.

After "Specification Self-Correction: Mitigating In-Context Reward Hacking Through Test-Time Refinement" (2025): what is
wrong with a specification is corrected before it is worked on, here by the user's decision.
"""

"""How many edits are recovered, refused or wrongly made when real hunks are written as models write them.

`python -m benchmarks.edit_mutations CLONE…` takes hunks from public git histories, perturbs each in every
way that applies, and gives them to our engine and to the matchers of other agents, where these are installed.
"""

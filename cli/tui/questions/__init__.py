"""Questions to the person at the terminal, all in one frame: approvals, plans, proposals, questions of models."""

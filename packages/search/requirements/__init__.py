"""Requirements of a task as a tree that is checked at the end of a turn.

After "Agent-as-a-Judge: Evaluate Agents with Agents" (Zhuge et al. 2024, arXiv 2410.10934).
"""

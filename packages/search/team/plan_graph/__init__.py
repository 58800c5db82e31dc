"""Plans as graphs: steps with dependencies, checked before work, run at the same time, replanned one by one."""

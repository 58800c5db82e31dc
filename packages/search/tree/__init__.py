"""`tree` and `evolve`: searches over states of the project, guided by what ran in each."""

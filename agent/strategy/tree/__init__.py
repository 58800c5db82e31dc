"""`tree`: a search over states of the project, guided by what ran in each."""

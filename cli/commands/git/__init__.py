"""Commands around commits: commit, review, pull request, git hooks."""

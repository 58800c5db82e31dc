"""Pull requests, reviews and issues at GitHub, GitLab and Gitea."""

"""Program that runs a reproduction's statements inside the sandbox, under the project's own Python."""

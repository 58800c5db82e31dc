"""Questions of this package to the person at the terminal."""

"""The user's rules: data in a settings file, compiled to a monitor and a verifier."""

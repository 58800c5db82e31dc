"""Request and reply formats of model APIs."""

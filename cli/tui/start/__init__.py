"""The first conversation of a user who has set nothing up."""

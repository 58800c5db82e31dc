"""Facts of a session and the state ledger made from them."""

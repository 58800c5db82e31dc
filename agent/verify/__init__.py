"""How a finished turn is judged: only an executed check counts."""

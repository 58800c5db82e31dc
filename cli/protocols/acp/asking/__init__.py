"""What a client's user is asked: permissions, questions of models, plans."""

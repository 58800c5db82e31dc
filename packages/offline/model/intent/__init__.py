"""What a prompt asks of the offline engine: a repair, an answer, or what it cannot do."""

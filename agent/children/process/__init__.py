"""Child sessions in other processes: lines of JSON over pipes, or over anything else that carries lines."""

"""Jobs that a small model can do: each a short question, checked by code, with an honest end."""

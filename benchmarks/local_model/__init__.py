"""How the offline engine and a local coding model mend bugs, alone and together."""

"""How small models do, alone and with the harness's help."""

"""Knowledge of model servers that no catalog lists: asked for, remembered with its date."""

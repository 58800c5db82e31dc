"""Knowledge of the workspace's code: index, symbols, syntax, language servers, fault localization."""

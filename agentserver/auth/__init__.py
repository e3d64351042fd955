"""Who may come in: session keys, users with tokens and browser sessions, the workspace cookie."""

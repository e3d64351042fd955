"""Bash commands and their outputs, one table: what the wire calls bash events."""

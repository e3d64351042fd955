"""The dashboard: pages that show what runs, and stop it with one click."""

"""A scripted model served by this server itself, to see a conversation run without a key or a bill."""

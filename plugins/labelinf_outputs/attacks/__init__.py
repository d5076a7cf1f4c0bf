"""Attacks of the model-output channel, one per file."""

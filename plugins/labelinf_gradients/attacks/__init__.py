"""Attacks of the gradient channel, one per file."""

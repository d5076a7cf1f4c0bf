"""Suites of this channel."""

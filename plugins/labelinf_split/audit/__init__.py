"""Recorded runs of users, audited."""

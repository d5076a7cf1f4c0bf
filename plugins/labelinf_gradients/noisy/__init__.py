"""Attacks that expect noise."""

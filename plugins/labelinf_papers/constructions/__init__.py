"""Constructions of the papers."""

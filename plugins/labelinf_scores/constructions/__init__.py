"""Constructions: gaps with distinct sums, and how far apart the sums are."""

"""Turns results into what people and machines read: a table on a terminal, JSON, CSV."""

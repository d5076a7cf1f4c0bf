"""Published figures as data, and what becomes of them when they are computed again."""

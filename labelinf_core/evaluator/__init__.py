"""Plays every attack against every defence and keeps what it saw.

Data flow: suite (TOML) -> plan (cells, each named by its content) -> tasks on an executor -> run record (SQLite) ->
results (proportions with intervals, verdicts). Each step is a module of its own and knows only the one before it.
"""

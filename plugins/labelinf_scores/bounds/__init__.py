"""Bounds of the score channel: noise floors and accuracy ceilings."""

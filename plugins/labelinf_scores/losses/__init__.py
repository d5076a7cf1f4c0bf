"""Losses of the score channel, each written once for every arithmetic."""

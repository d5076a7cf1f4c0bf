"""Defences of the score channel, each one middleware."""

"""Defences of the gradient channel, by what they change."""

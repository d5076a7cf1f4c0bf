"""Noise models: distributions of noise, and what the adversary may know of them. One model per file."""

"""Noise models, label-DP mechanisms and privacy accounting, shared by all channels."""

"""Decoders: from the answers back to labels."""

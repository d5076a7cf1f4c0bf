"""Decoders that only the attacks of this room need."""

"""Attacks: a construction, a decoder and the queries that connect them."""

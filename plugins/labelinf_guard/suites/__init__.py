"""Suites that ``labelinf matrix`` plays by name, and parts of them."""

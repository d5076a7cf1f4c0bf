"""Attacks of the papers that win nowhere any more."""

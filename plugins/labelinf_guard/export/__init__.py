"""Scorers without a ledger, for platforms that keep nothing between submissions: one self-contained file for each."""

"""The ledger: what was told, what it cost, and a chain that shows whether anybody changed it."""

"""The deployed curator: a scorer of a board, with a ledger, and a certificate that holds against all teams together."""

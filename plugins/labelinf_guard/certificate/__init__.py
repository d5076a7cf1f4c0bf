"""What a board proves: bits, noise and splits as points over a perfect model, and the sentences that say so."""

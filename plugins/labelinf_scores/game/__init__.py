"""The game of the score channel: curator, oracle, scorers, and what honest participants pay."""

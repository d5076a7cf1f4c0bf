"""Published tables about gradients, computed again."""

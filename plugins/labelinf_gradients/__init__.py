"""The gradient channel: label recovery from last-layer gradients, and what stops it."""

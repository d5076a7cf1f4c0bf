"""Auditing somebody's own system: what it gives away, learnt from its answers alone."""

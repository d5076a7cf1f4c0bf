"""A user's own scorer: probed, attacked, advised on."""

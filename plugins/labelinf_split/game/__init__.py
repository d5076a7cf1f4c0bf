"""A split run on planted labels, recorded as the feature party sees it."""

"""A third party's labelinf plugin."""

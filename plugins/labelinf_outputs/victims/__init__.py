"""Victims that need more than NumPy; written ``module:factory`` in a suite, as anyone's."""

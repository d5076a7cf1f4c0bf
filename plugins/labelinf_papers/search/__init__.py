"""The search of Wang et al., ICLR 2024, for the scalar: the baseline that the exact solver stands beside."""

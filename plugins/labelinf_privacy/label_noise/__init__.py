"""Noise models of labels: for every label an answer, drawn from a law in whole numbers. One model per file."""

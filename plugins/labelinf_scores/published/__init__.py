"""Figures and tables of the two score papers, computed again."""

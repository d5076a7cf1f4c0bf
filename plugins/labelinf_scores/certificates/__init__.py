"""Proofs, made before anything is asked, that a design tells every two labelings apart through a real curator."""

"""Proofs, made before anything is asked, that a design tells every two labellings apart through a real curator."""

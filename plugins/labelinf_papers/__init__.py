"""What reproduces the papers, and nothing else needs: their figures, superseded attacks and constructions."""

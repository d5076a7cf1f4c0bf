"""What counts of guesses say: intervals, p-values, and the epsilon that planted labels prove. Pure functions."""

"""Plans of the attacks by primes."""

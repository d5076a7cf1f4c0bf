"""What each curator releases, and the adversary's whole view of it."""

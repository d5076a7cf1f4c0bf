"""What a feature party guesses from what it is sent."""

"""The suite of the papers."""

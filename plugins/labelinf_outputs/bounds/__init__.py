"""What the theory says about the model-output channel."""

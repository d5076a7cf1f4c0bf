"""The game of the model-output channel: planted labels, victims, views."""

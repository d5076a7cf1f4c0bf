"""The model-output channel: a label-memorisation audit."""

"""Records with features that the model-output channel is measured on."""

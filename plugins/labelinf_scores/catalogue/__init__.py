"""What this plugin provides, as light descriptors; one module per family."""

"""What a label party does to labels and gradients."""

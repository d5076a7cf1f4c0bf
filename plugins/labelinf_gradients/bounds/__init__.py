"""What theory says of the gradient channel without playing it."""

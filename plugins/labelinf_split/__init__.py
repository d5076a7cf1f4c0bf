"""Split learning: what the gradients of the cut give away about the label party's labels."""

"""How plugins are found and what they hand over: hooks, descriptors, statements, the host."""

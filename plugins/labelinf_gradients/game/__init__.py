"""The game of the gradient channel: clients, networks, releases."""

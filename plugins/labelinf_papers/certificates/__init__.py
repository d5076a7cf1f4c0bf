"""How far apart labellings are, exactly."""

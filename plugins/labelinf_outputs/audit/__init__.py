"""A user's own model, audited from its predictions."""

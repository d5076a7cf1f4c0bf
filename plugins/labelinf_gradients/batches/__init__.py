"""Label recovery from the gradient of a batch: counts of every class, or every sample exactly."""

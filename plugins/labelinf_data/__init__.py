"""Label sources: bundled real sets, published label counts, a user's files, made data."""

"""A made-up distribution whose components misbehave in every way that the evaluator must survive."""

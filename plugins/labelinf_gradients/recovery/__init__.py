"""Exact label recovery from the gradient of one sample: the last layer's rank-one gradient, solved for one scalar."""

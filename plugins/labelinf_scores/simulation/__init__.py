"""Reading the labels behind any scorer by simulating the scorer itself on candidate labellings.

Whoever attacks a scorer has its code. So nothing here asks what a metric is called: the scorer is run on labels that
are made up, and labels whose simulated answers are not the answer that was given are ruled out. Nothing is certified
by it: that simulation found no dependence on other labels is a bet, and what was read is replayed at the end.
"""

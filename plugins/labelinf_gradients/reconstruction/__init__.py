"""What a recovered label buys: the input itself, by recursion through a fully connected network or by matching."""

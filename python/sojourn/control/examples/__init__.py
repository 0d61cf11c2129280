"""Four controllers of ours written as classes: the same numbers to the bit as those built in."""

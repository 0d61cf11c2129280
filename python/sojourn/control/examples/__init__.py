"""Controllers and queues of ours written as classes: to the bit the same as those built in."""

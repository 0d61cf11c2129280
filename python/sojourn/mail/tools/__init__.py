"""What is made of delivery logs: batches, late messages, traces, a watch."""

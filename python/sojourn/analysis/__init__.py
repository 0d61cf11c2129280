"""What rows say: samples, intervals, precision, summaries, comparisons."""

"""The real list server in a small internet, each in a separate process.

`stage` starts both and watches, `outcome` counts what became of every recipient, `benchmarks` has
the worlds and loads that `sojourn bench mail` measures.
"""

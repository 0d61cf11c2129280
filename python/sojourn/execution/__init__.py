"""How cases are run: on threads, on a cluster, and how long that takes."""

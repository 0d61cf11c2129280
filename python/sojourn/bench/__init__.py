"""`sojourn bench`: what a unit of work costs.

`engine` measures the simulators, `mail/` the real list server, `peers` other people's simulators.
Nothing is imported here: a process that is measured imports `child` alone.
"""

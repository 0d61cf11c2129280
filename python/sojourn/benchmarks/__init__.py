"""`sojourn bench`: what a unit of work costs.

`engine` measures the simulators, `mail/` the real list server. Other people's simulators are in
`benches/peers` of the repository.
Nothing is imported here: a process that is measured imports `child` alone.
"""

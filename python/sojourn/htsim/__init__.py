"""What users of htsim_uec have, as studies: its arguments, connection matrices and topologies.

The program is the reference simulator of the Ultra Ethernet Consortium (uet-htsim, 40ccb05).
"""

from sojourn.htsim.study import Made, made

__all__ = ["Made", "made"]

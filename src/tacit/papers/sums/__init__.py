"""Sums on rings and in segments, as papers 001, 003 and 004 have them; the core and the other papers sum pairwise.

cycles    rings that share no edge
ring_sum  the protocol
attacks   what pads from weak seeds give away
"""

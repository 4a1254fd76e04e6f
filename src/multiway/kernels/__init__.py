"""Fast paths behind `multiway.ops`, which holds the plain form of each and chooses between them.

Some are compiled; where there is no C compiler, or with MULTIWAY_KERNELS=0, torch does their work.
"""

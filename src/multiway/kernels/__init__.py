"""Optional compiled kernels; where the install found no C compiler, or with MULTIWAY_KERNELS=0, torch does the work."""

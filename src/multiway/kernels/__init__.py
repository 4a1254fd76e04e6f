"""Optional compiled kernels; without a C compiler, or with MULTIWAY_KERNELS=0, everything runs without them."""

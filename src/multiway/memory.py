"""Keep freed memory in the process: on Linux, a training step otherwise pays for its pages again and again."""

import ctypes
import os

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX = -1, -2, -4  # glibc's malloc.h
_LARGEST = 2**31 - 1


def keep_freed_memory() -> bool:
    """Ask glibc to reuse what tensors free instead of handing it back; False where there is no glibc.

    By default every large tensor is mapped afresh and each of its pages faults on first use, which takes a quarter
    to a third of a training step on the CPU. This acts on the whole process, so programs call it and libraries
    do not: `multiway` on the command line does. The process keeps its peak memory until it ends. PyArrow, where it
    is imported later, takes from the same heap, so that arrays reuse what a reader of tables has freed.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    return all(mallopt(*setting) for setting in ((_MMAP_MAX, 0), (_TRIM_THRESHOLD, _LARGEST), (_TOP_PAD, 2**26)))

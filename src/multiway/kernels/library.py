"""The compiled chain: built with the machine's C compiler on first use, kept in the user's cache folder."""

import ctypes
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_name("chain.c")
HEADER = Path(__file__).with_name("products.h")
FLAGS = ("-O3", "-march=native", "-fPIC", "-shared")


@functools.cache
def library() -> ctypes.CDLL | None:
    """The library, or None where it is switched off (MULTIWAY_KERNELS=0) or cannot be had."""
    if os.environ.get("MULTIWAY_KERNELS", "1") == "0" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    try:
        found = ctypes.CDLL(str(_built()))
    except (OSError, RuntimeError, subprocess.SubprocessError):  # no compiler, or nowhere to keep what it makes
        return None
    size = ctypes.c_longlong
    found.chain.argtypes = (ctypes.c_void_p, ctypes.c_void_p, size, size, ctypes.c_void_p)
    return found


def _built() -> Path:
    """The library's file, named after source, flags and processor: no machine loads what another was built for."""
    what = "\n".join([SOURCE.read_text(), HEADER.read_text(), *FLAGS, platform.machine(), _processor()])
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "multiway"
    path = folder / f"chain-{hashlib.sha256(what.encode()).hexdigest()[:16]}.so"
    if not path.is_file():
        compiler = shutil.which(os.environ.get("CC", "cc"))
        if compiler is None:
            raise FileNotFoundError("no C compiler")
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            made = Path(scratch) / "chain.so"
            subprocess.run(
                [compiler, *FLAGS, str(SOURCE), "-o", str(made)], check=True, capture_output=True, timeout=60
            )
            made.replace(path)  # at once: another process finds all of it or nothing
    return path


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    return next((line for line in lines if line.startswith(("flags", "Features"))), platform.processor())


@functools.cache
def launcher() -> int | None:
    """Address of the function of torch's own OpenMP that starts threads; a second one would fight over the cores."""
    try:
        return ctypes.cast(ctypes.CDLL(None).GOMP_parallel, ctypes.c_void_p).value
    except (AttributeError, OSError, TypeError):
        return None

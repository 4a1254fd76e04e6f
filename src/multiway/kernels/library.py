"""The compiled kernels: built where there is a C compiler, by the install of a checkout or on first use into a cache.

`python -m multiway.kernels` builds them next to their sources, or into the cache where that cannot be written to. This
file imports the standard library alone, since the install runs it before anything else is there.
"""

import ctypes
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent
SOURCES, HEADERS = ("chain.c", "additive.c", "positives.c"), ("narrow.h", "products.h")
FLAGS = ("-O3", "-march=native", "-fPIC", "-shared")
FAILURES = (OSError, RuntimeError, subprocess.SubprocessError)
"""No compiler, one that fails, or nowhere to put what it makes: then there is no library, and torch does the work."""


@functools.cache
def library() -> ctypes.CDLL | None:
    """The library, built on first use; None where it is switched off (MULTIWAY_KERNELS=0) or cannot be built."""
    if os.environ.get("MULTIWAY_KERNELS", "1") == "0" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    try:
        installed = library_path(FOLDER)
        kernels = ctypes.CDLL(str(installed if installed.is_file() else build_library(user_folder())))
    except FAILURES:
        return None
    address, size = ctypes.c_void_p, ctypes.c_longlong
    kernels.chain.argtypes = (ctypes.c_char_p,)
    kernels.additive.argtypes, kernels.additive.restype = (address, address, address, address, size, address), None
    kernels.positives.argtypes = (address, address, address, address, address, size, address)
    kernels.positives.restype = None
    return kernels


def build_library(folder: Path = FOLDER) -> Path:
    """Compile the sources into a folder, unless that was done."""
    path = library_path(folder)
    if not path.is_file():
        compiler = shutil.which(os.environ.get("CC", "cc"))
        if compiler is None:
            raise FileNotFoundError("multiway.kernels: no compiler. Install one, or name it with CC=...")
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
            made = Path(scratch) / "made.so"
            command = [compiler, *FLAGS, *(str(FOLDER / name) for name in SOURCES), "-o", str(made)]
            subprocess.run(command, check=True, capture_output=True, timeout=600)
            made.replace(path)  # at once: another process finds all of it or nothing
    return path


def writable_folder() -> Path:
    """Next to the sources, or this user's folder where that cannot be written to."""
    return FOLDER if os.access(FOLDER, os.W_OK) else user_folder()


def user_folder() -> Path:
    """Where this user's library lies if the install built none, as that of a wheel does not."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "multiway"


def library_path(folder: Path) -> Path:
    """Where it lies, named after sources, flags and processor: no machine loads what another was built for."""
    sources = [(FOLDER / source).read_text() for source in (*SOURCES, *HEADERS)]
    what = "\n".join([*sources, *FLAGS, platform.machine(), _processor()])
    return folder / f"kernels-{hashlib.sha256(what.encode()).hexdigest()[:16]}.so"


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

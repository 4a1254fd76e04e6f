"""Memory kept in the process, in one of its own: the setting cannot be taken back."""

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys, torch
from multiway.memory import keep_freed_memory
kept = keep_freed_memory() if sys.argv[1] == "keep" else False
def faults(times):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(times):
        torch.ones(16 * 2**20)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
faults(10)
print(kept, faults(10))
"""


def faults_of(mode):
    out = subprocess.run([sys.executable, "-c", PROGRAM, mode], capture_output=True, text=True, check=True).stdout
    kept, count = out.split()
    return kept == "True", int(count)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the setting belongs to glibc")
def test_a_freed_tensor_is_used_again():
    (kept, few), (_, many) = faults_of("keep"), faults_of("plain")
    assert kept
    assert few < many / 4  # 64 MiB ten times are 160,000 pages; a tensor may once find its place taken

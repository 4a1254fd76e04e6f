"""Memory kept in the process, in one of its own: the setting cannot be taken back."""

import platform

import pytest

import children

PROGRAM = """
import os, resource, torch
from multiway.memory import keep_freed_memory
kept = keep_freed_memory() if os.environ["MODE"] == "keep" else False
def faults(times):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(times):
        torch.ones(16 * 2**20)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
faults(10)
print(kept, faults(10))
"""


def faults_of(mode, folder):
    kept, count = children.run_program(PROGRAM, folder, MODE=mode).stdout.split()
    return kept == "True", int(count)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the setting belongs to glibc")
def test_a_freed_tensor_is_reused(tmp_path):
    (kept, few), (_, many) = faults_of("keep", tmp_path), faults_of("plain", tmp_path)
    assert kept
    assert few < many / 4  # 64 MiB ten times are 160,000 pages; a tensor may once find its place taken

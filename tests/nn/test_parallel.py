"""Layers spread over two processes: values and gradients of one process, by tensor parallelism and by FSDP."""

import subprocess
import sys
from pathlib import Path

import pytest
from torch import nn as torch_nn

from multiway import nn
from multiway.nn.parallel import parallel_plan, split_mode

PROGRAM = Path(__file__).with_name("parallel_program.py")


@pytest.mark.slow
def test_values_and_gradients_of_two_processes_are_those_of_one():
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone", str(PROGRAM)]
    done = subprocess.run(launch, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert sorted("".join(done.stdout.split())) == ["0", "1"]


def test_the_plan_names_the_layers_that_the_processes_divide():
    model = torch_nn.ModuleDict(
        {
            "maps": nn.NdLinear((2, 3), (5, 6)),
            "odd": nn.NdLinear((2, 3), (5, 7)),
            "flat": nn.NdLinear((2, 3), (5, 6), flat=True),
            "chain": nn.TTLinear((2, 3), (4, 7), tt_ranks=2),
            "thin": nn.LowRankLinear(6, 9, rank=2),
            "dense": torch_nn.Linear(6, 6),
            "table": nn.TTEmbedding(30, (4, 9), tt_ranks=2),
            "tucker": nn.TuckerConv(torch_nn.Conv2d(3, 6, 3), (2, 2)),
            "polyadic": nn.CPConv(torch_nn.Conv2d(6, 5, 3), (2,)),
            "attend": nn.KroneckerAttention(36, num_heads=9, num_modes=2),
        }
    )
    assert parallel_plan(model, 2).keys() == {"maps", "chain", "table", "tucker"}
    assert parallel_plan(model, 3).keys() == {"maps", "thin", "tucker", "attend"}
    assert split_mode(model["maps"], 2) == 1 and split_mode(model["maps"], 5) == 0

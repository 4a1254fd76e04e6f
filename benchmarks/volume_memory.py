"""Peak memory of one training step on volumes, in a process of its own: `python -m benchmarks.volume_memory JSON`."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks.peak import peak_bytes

ROOT = Path(__file__).parent.parent


def peak_of(case: Mapping[str, object], threads: int, module: str = "benchmarks.volume_memory") -> dict[str, object]:
    """Run the `step` of a module in a fresh process: what it needed, and nothing of what ran before."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    words = [sys.executable, "-m", module, json.dumps(case)]
    done = subprocess.run(words, env=environment, check=True, capture_output=True, text=True, cwd=ROOT)
    return json.loads(done.stdout)


def step(case: Mapping) -> dict[str, object]:
    """Forward, loss and backward of one batch; the peak counts libraries, weights, gradients and the batch too."""
    import torch
    from torch.nn import functional as F

    from multiway.models import create_model

    torch.manual_seed(0)
    model = create_model(case["model"], sizes=case["sizes"], **case["fields"]).train()
    x = torch.randn(case["batch"], 1, *case["sizes"])
    before, start = peak_bytes(), time.perf_counter()
    half = torch.autocast("cpu", torch.bfloat16) if case["dtype"] == "bfloat16" else contextlib.nullcontext()
    with half:
        loss = F.cross_entropy(model(x).float(), torch.arange(case["batch"]) % 2)
    loss.backward()
    seconds = time.perf_counter() - start
    if not all(each.grad.isfinite().all() for each in model.parameters() if each.grad is not None):
        raise RuntimeError("a gradient is not finite, so the step is no training step")
    return {
        "peak_gb": round(peak_bytes() / 1e9, 2),
        "before_gb": round(before / 1e9, 2),
        "step_s": round(seconds, 2),
        "parameters": sum(each.numel() for each in model.parameters()),
    }


if __name__ == "__main__":
    print(json.dumps(step(json.loads(sys.argv[1]))))

"""Program of one of two processes: train each run that the argument names; an error ends that run alone."""

import contextlib
import json
import sys
import traceback

import torch

from multiway.cli.app import app

torch.set_num_threads(1)
for name, words in json.loads(sys.argv[1]).items():
    try:
        with contextlib.suppress(SystemExit):
            app(words, standalone_mode=False)
    except Exception:
        print(f"{name}: {traceback.format_exc()}", file=sys.stderr)

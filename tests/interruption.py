"""A training that is told to stop, as a scheduler does it."""

import os
import signal

from multiway.training import loop


def stop_after(monkeypatch, count):
    """Deliver a real SIGTERM during one step, counted over every training of the run."""
    original, steps = loop._Loop._step, []

    def one_step(self, request):
        steps.append(1)
        if len(steps) == count:
            os.kill(os.getpid(), signal.SIGTERM)
        return original(self, request)

    monkeypatch.setattr(loop._Loop, "_step", one_step)

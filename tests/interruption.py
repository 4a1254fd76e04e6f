"""A training that is told to stop, as a scheduler does it, or that dies; a disk that takes no more."""

import contextlib
import os
import resource
import signal
from unittest import mock

from multiway import files
from multiway.training.steps import Steps


class Killed(BaseException):
    """What ends a process at once: nobody handles it, and nothing is saved on the way."""


@contextlib.contextmanager
def full_disk(size):
    """No file can become larger than so many bytes: the system itself refuses, to whatever library it is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def left_over(path):
    """Where a process that was killed was writing what should have become a path."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    with mock.patch.object(os, "getpid", lambda: child):
        return path.with_name(files.temporary_name(path.name))


def stop_after(monkeypatch, count, number=signal.SIGTERM):
    """Deliver a real signal during one step, counted over every training of the run."""
    _before_step(monkeypatch, count, lambda: os.kill(os.getpid(), number))


def kill_at(monkeypatch, count):
    """End the training before one step, counted over every training of the run."""

    def die():
        raise Killed

    _before_step(monkeypatch, count, die)


def act_at(monkeypatch, count, action):
    """Do something before one step, counted over every training of the run."""
    _before_step(monkeypatch, count, action)


def _before_step(monkeypatch, count, action):
    original, taken = Steps.take, []

    def one_step(self, standing, request):
        taken.append(1)
        if len(taken) == count:
            action()
        return original(self, standing, request)

    monkeypatch.setattr(Steps, "take", one_step)

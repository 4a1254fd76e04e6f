"""An encoder that takes its time, and the command line with it: for tests that stop a process half way."""

import os
import sys
import time

from multiway.cli.main import run
from multiway.data.encoders import HashedEncoder, encoding


class SlowEncoder:
    """The hashed encoder, some time later."""

    def __init__(self, seconds: float) -> None:
        self.name, self.digest, self.dim, self.seconds = "slow", "0123456789abcdef", 16, seconds

    def encode(self, texts):
        time.sleep(self.seconds)
        return HashedEncoder(self.dim).encode(texts)


def encode_slowly(words, folder):
    """The command, in a process of its own."""
    os.chdir(folder)
    sys.argv = ["multiway", *words]
    encoding.CHUNK = 4
    encoding.make_encoder = lambda options: SlowEncoder(0.2)
    run()

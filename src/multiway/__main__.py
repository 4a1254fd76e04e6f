"""`python -m multiway`, the same as the `multiway` command; `torchrun -m multiway` starts many."""

from multiway.cli.main import run

if __name__ == "__main__":
    run()

"""Most memory that a command of multiway has at once, in bytes: `python -m benchmarks.peak WORDS ...`."""

import resource
import sys
from pathlib import Path


def peak_bytes() -> int:
    """The kernel's own high-water mark, which starts anew with the program; `getrusage` remembers the parent's."""
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return 1024 * int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main(words: list[str]) -> None:
    """Run the command in this process, then print its peak on a line of its own."""
    from multiway.cli.main import run

    sys.argv = ["multiway", *words]
    try:
        run()
    except SystemExit as end:
        if end.code:
            raise
    print(peak_bytes())


if __name__ == "__main__":
    main(sys.argv[1:])

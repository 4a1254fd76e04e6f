"""`python -m multiway.kernels`: compile the kernels after the install, or say why that cannot be done."""

import sys

from multiway.kernels.library import FAILURES, build_library, build_nodes, writable_folder

if __name__ == "__main__":
    try:
        folder = writable_folder()
        print(build_library(folder))
        print(build_nodes(folder))
    except FAILURES as error:
        sys.exit(f"multiway: error: no compiled kernels: {error}")

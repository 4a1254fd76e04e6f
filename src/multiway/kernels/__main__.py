"""`python -m multiway.kernels`: compile the kernels after the install, or say why that cannot be done."""

import sys

from multiway.kernels.library import FAILURES, build_library, writable_folder

if __name__ == "__main__":
    try:
        print(build_library(writable_folder()))
    except FAILURES as error:
        sys.exit(f"multiway: error: no compiled kernels: {error}")

"""``assay`` where pip installed it, and ``python -m assay``: the command itself."""
import os
import sys

from assay import library
from assay.command import program
from assay.library import AssayError


def main() -> None:
    try:
        beside = library.prefix()
        path = os.path.join(beside, "bin", "assay") if beside else program()
        os.execv(path, [path, *sys.argv[1:]])
    except (AssayError, OSError) as error:
        sys.exit(f"assay: {error}")


if __name__ == "__main__":
    main()

"""`python -m nibd.bench`: see `nibd.bench.command`."""

import sys

if __name__ == "__main__":
    # Here, so that the workers of a rebuild, which import this module again, don't take longer for it.
    from nibd.bench.command import main

    sys.exit(main())

"""`python -m nibd.bench.retrieve`: what ranked search finds. See `nibd.bench.retrieve_command`."""

import sys

if __name__ == "__main__":
    # Here, so that the workers of a build, which import this module again, don't take longer for it.
    from nibd.bench.retrieve_command import main

    sys.exit(main())

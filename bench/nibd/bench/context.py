"""`python -m nibd.bench.context`: what context policies cost and give. See `nibd.bench.context_command`."""

import sys

if __name__ == "__main__":
    # Here, so that the workers of a build, which import this module again, don't take longer for it.
    from nibd.bench.context_command import main

    sys.exit(main())

"""`python -m nibd.bench.lifecycle`: what views cost over their life. See `nibd.bench.lifecycle_command`."""

import sys

if __name__ == "__main__":
    # Here, so that the workers of a rebuild, which import this module again, don't take longer for it.
    from nibd.bench.lifecycle_command import main

    sys.exit(main())

"""`python -m nibd.bench.relations`: how relations follow commits. See `nibd.bench.relations_command`."""

import sys

if __name__ == "__main__":
    # Here, so that the workers of a publication, which import this module again, don't take longer for it.
    from nibd.bench.relations_command import main

    sys.exit(main())

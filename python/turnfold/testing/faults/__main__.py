"""`python -m turnfold.testing.faults`."""

import sys

from turnfold.testing.faults.program import main

if __name__ == "__main__":
    sys.exit(main())

"""`python -m turnfold`."""

import sys

from turnfold.cli import main

if __name__ == "__main__":
    sys.exit(main())

"""`python -m gplens COMMAND`: the command line, where the script `gplens` is not on the path."""

import sys

from gplens.cli.main import main

if __name__ == "__main__":
    sys.exit(main())

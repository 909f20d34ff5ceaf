# SPDX-License-Identifier: Apache-2.0
"""`python -m controllers`: the command line; see `command.cli`."""

from controllers.command.cli import main

if __name__ == "__main__":
    main()

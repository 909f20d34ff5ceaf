# SPDX-License-Identifier: Apache-2.0
"""`python -m controllers`."""

from controllers.cli import main

if __name__ == "__main__":
    main()

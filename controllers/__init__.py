# SPDX-License-Identifier: Apache-2.0
"""Controllers: thin reconcilers on `controller_runtime`, and the command line that runs them."""

# SPDX-License-Identifier: Apache-2.0
"""The controllers, thin reconcilers on `controller_runtime`, and their command line."""

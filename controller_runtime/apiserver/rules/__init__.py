# SPDX-License-Identifier: Apache-2.0
"""What objects must be: defaults, validation and what writers may change, kind by kind, and the schemas."""

# SPDX-License-Identifier: Apache-2.0
"""The values that all else works with: objects, resources, versions, selectors, schemas, HTTP messages. No I/O."""

# SPDX-License-Identifier: Apache-2.0
"""What things are: objects, resources, versions, selectors, schemas, HTTP values. No I/O."""

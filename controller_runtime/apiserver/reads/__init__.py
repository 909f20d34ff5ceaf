# SPDX-License-Identifier: Apache-2.0
"""Lists, watches and the forms in which objects are served."""

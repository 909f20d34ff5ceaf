# SPDX-License-Identifier: Apache-2.0
"""Objects that a controller owns: desired by pure functions, applied, pruned, and summed up in a condition.

`owned.py` has the declaration, `plan.py` the decisions, `memory.py` what was applied, `summary.py` the condition, and
`dependents.py` acts. It is built from the public parts of a manager, so it lies above that.
"""

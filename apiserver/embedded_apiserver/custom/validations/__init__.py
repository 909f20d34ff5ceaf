# SPDX-License-Identifier: Apache-2.0
"""Rules in CEL (`x-kubernetes-validations`) of definitions and of the objects of their kinds.

- `declared`: the types of a structural schema, with the sizes that the static estimate counts on.
- `converting`: from JSON to the values of expressions, where the schema says that they differ.
- `field_paths`: the paths that rules may name, and the names of fields in expressions.
- `compiled`: the rules of a schema and those below it, compiled once for each version of a definition.
- `correlation`: which part of a stored object is the old value of a part of its update.
- `judged`: the violations of the rules by an object.
- `written`: what is wrong with the rules themselves, found when the definition is written.
"""

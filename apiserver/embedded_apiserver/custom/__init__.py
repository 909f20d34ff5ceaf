# SPDX-License-Identifier: Apache-2.0
"""Rules of custom resource definitions, and of the custom objects whose kinds they define.

For a definition:

- `definition`: defaults, generations, the finalizer, immutable fields and warnings. It calls `spec_causes`.
- `spec_causes`: the validation errors of a definition's `spec`: names, versions, columns. It calls `schema_structure`.
- `schema_structure`: the validation errors of one OpenAPI schema, which has to be structural.
- `accepted_names`: which of the names that definitions ask for are free in their group. The server calls it after a
  definition was written, because the answer depends on all definitions.

For an object of a custom kind:

- `kinds`: the kinds that a definition makes, and what a write does to their objects.
- `forms`: the forms in which objects are stored and shown.
- `objects`: the checks of an object. It calls `schema_causes`.
- `schema_causes`: the validation errors of a value by its schema, which checks a schema's own `default` values, too.

For both: `validations` (rules in CEL), `formats` (formats of strings), and `work`, which limits how much computation
one request may cause.
"""

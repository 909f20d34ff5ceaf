# SPDX-License-Identifier: Apache-2.0
"""Reads of the embedded server: lists, watches, and the forms in which objects are sent.

- `selection`: which objects a request selects, by namespace, labels and fields.
- `listing`, `watch`: the state or the changes that a request reads. They call `selection`.
- `negotiation`: from the `Accept` header to a form. It knows all forms: `forms` (JSON, and the protocols that all
  forms follow), `views` (metadata only, or another group's field names), `tables` and `yaml_form`.
- `columns`: the table columns of each kind, whose cells stand in its value, and of custom kinds, which need `jsonpath`.
"""

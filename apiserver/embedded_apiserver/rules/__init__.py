# SPDX-License-Identifier: Apache-2.0
"""The rules of the embedded server for objects: defaults, validation, and what a write may change.

A request passes through these modules from top to bottom; each imports only those below it.

- `strategy`: the steps of a create, an update or a deletion that all kinds share (`prepare_create`,
  `prepare_update`), and the fields that a field selector may name. `writes` and `reads` call it.
- `scale`: the `scale` subresource of workloads. `writes` calls it.
- `ruleset`: the table from a kind to its `Rules`. A kind without an entry has none of its own.
- `checks`: the table from a kind to the functions of `causes` that check its objects when they are created and changed.
- One module for each kind or group of kinds, with subclasses of `Rules`: `event`, `lease`,
  `lease_candidate`, `namespace`, `node`, `pod`, `volume_claim`, `workload` (all that create pods), and `small_kinds`
  (services, ingresses, disruption budgets, roles). `definitions` is a package of its own: custom resource
  definitions, and the custom objects whose kinds they define.
- `causes`: what built-in kinds are checked by, one function for each rule, shared by all kinds that embed the part.
- `go_structs`: parts of objects as a real server's messages show them.
- `label_match`: label selectors that objects hold.
- `shape`: a compiler from a built-in kind's schema to a function that checks types, prunes unknown fields, leaves out
  zero values and fills in defaults. `writes` applies it to each body before `strategy` sees the object. `shape_parts`
  has the shapes of lists and maps.
- `stored_forms`: how a real server stores each field of each type, as data. `type_defaults`, `pod_defaults` and
  `service_defaults`: what depends on other fields, one function for each type.
- `service_addresses`: the addresses and ports that a service needs, keeps and gives back.
- `address_records`: the `IPAddress` of each address of a service.
- `values`: the scalar types of these schemas, such as times and quantities.
- `validation`: the rules of `metadata` for all kinds, in
  the words of a real server.
- `rules`: the base class `Rules`, that is, the behaviour of a kind without rules of its own.

All functions are pure: they modify nothing that they are given and read no clock.
"""

# SPDX-License-Identifier: Apache-2.0
"""The rules of the embedded server for objects: defaults and checks, which the values of the kinds name.

A request passes through these modules from top to bottom; each imports only those below it.

- `definitions`: custom resource definitions, and the custom objects whose kinds they define.
- `causes`: what built-in kinds are checked by, one function for each rule, shared by all kinds that embed the part.
- `go_structs`: parts of objects as a real server's messages show them.
- `shape`: a compiler from a built-in kind's schema to a function that checks types, prunes unknown fields, leaves out
  zero values and fills in defaults. `writes` applies it to each body before `writes` sees the object. `shape_parts`
  has the shapes of lists and maps.
- `stored_forms`: how a real server stores each field of each type, as data. `type_defaults`, `pod_defaults` and
  `service_defaults`: what depends on other fields, one function for each type.
- `service_addresses`: the addresses and ports that a service needs, keeps and gives back.
- `address_records`: the `IPAddress` of each address of a service.
- `values`: the scalar types of these schemas, such as times and quantities.
- `validation`: the rules of `metadata` for all kinds, in the words of a real server.

All functions are pure: they modify nothing that they are given and read no clock.
"""

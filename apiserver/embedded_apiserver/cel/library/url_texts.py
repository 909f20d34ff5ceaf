# SPDX-License-Identifier: Apache-2.0
"""Reads URLs as Go's `net/url` does, with its texts for what is wrong."""

from __future__ import annotations

import re
from typing import NamedTuple

from embedded_apiserver.cel.library.address_texts import NoAddress, address_of
from embedded_apiserver.quoting import quoted

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:", re.ASCII)
_PORT = re.compile(r"(?::[0-9]*)?", re.ASCII)
_USER = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*", re.ASCII)
_UNRESERVED = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~")
_OF_HOSTS = _UNRESERVED | frozenset(b"!$&'()*+,;=:[]<>\"")
_OF_PATHS = _UNRESERVED | frozenset(b"$&+,/:;=@")
_KEPT = _OF_PATHS | frozenset(b"!'()*[]%")
_HEX = frozenset(b"0123456789abcdefABCDEF")


class NoURL(ValueError):
    """A text is not a URL; the message is Go's."""


class Parts(NamedTuple):
    """The parts of a URL.

    Attributes:
        scheme: The scheme in lower case; empty for a path.
        host: The host with its port.
        path: The unescaped path, as bytes.
        raw_path: The path as written, if that differs from the default escaping of `path`; otherwise empty.
        query: The query as written.
        rest: All other parts, which are only compared.
    """

    scheme: str
    host: str
    path: bytes
    raw_path: str
    query: str
    rest: str = ""

    def escaped_path(self) -> str:
        """Return the path with special characters escaped."""
        if self.raw_path and all(byte in _KEPT for byte in self.raw_path.encode()):
            return self.raw_path
        return "*" if self.path == b"*" else _escaped(self.path)


def requested(text: str) -> Parts:
    """Return the parts of an absolute URL, an absolute path, or `*`.

    Raises:
        NoURL: The text is none of them.
    """
    try:
        return _parsed(text, is_request=True)
    except NoURL as error:
        raise NoURL(f"parse {quoted(text)}: {error}") from None


def parsed(text: str) -> Parts:
    """Return the parts of a URL. The fragment is only in `rest`.

    Raises:
        NoURL: The text is not a URL.
    """
    before, _, fragment = text.partition("#")
    try:
        made = _parsed(before, is_request=False)
    except NoURL as error:
        raise NoURL(f"parse {quoted(before)}: {error}") from None
    return made._replace(rest=f"{made.rest}#{fragment}")


def _parsed(text: str, *, is_request: bool) -> Parts:
    if any(letter < " " or letter == "\x7f" for letter in text):
        raise NoURL("net/url: invalid control character in URL")
    if not text and is_request:
        raise NoURL("empty url")
    if text == "*":
        return Parts("", "", b"*", "", "")
    if text.startswith(":"):
        raise NoURL("missing protocol scheme")
    match = _SCHEME.match(text)
    scheme, rest = (match[0][:-1].lower(), text[match.end() :]) if match else ("", text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return Parts(scheme, "", b"", "", query, rest)
        if is_request:
            raise NoURL("invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise NoURL("first path segment in URL cannot contain colon")
    host = user = ""
    if rest.startswith("//") and (scheme or (not is_request and not rest.startswith("///"))):
        authority, slash, path = rest[2:].partition("/")
        user, at, host = authority.rpartition("@")
        host, rest = _host(scheme, host), slash + path
        if at:
            _check_user(user)
    path_bytes = _unescaped(rest)
    return Parts(scheme, host, path_bytes, "" if _escaped(path_bytes) == rest else rest, query, user)


def _check_user(user: str) -> None:
    if not _USER.fullmatch(user):
        raise NoURL("net/url: invalid userinfo")
    _unescaped(user)


def _host(scheme: str, host: str) -> str:
    bracket = host.rfind("[")
    if bracket > 0:
        raise NoURL("invalid IP-literal")
    if bracket == 0:
        return _in_brackets(host)
    first, last = host.find(":"), host.rfind(":")
    if first >= 0:
        port = host[first if scheme in ("http", "https") else last :]
        if not _PORT.fullmatch(port):
            raise NoURL(f"invalid port {quoted(port)} after host")
    return _unescaped_host(host)


def _in_brackets(host: str) -> str:
    end = host.rfind("]")
    if end < 0:
        raise NoURL("missing ']' in host")
    port = host[end + 1 :]
    if not _PORT.fullmatch(port):
        raise NoURL(f"invalid port {quoted(port)} after host")
    name = _unescaped_host(host[1:end])
    try:
        address, _ = address_of(name)
    except NoAddress as error:
        raise NoURL(f"invalid host: {error}") from None
    if address.version == 4:
        raise NoURL("invalid IP-literal")
    return f"[{name}]{port}"


def _unescaped_host(host: str) -> str:
    data = host.encode()
    for index, byte in enumerate(data):
        if byte == ord("%"):
            escape = data[index : index + 3]
            _check_escape(escape)
            if int(escape[1:], 16) < 0x80 and escape != b"%25":
                raise NoURL(f"invalid URL escape {quoted(escape.decode())}")
        elif byte < 0x80 and byte not in _OF_HOSTS:
            raise NoURL(f"invalid character {quoted(chr(byte))} in host name")
    return _unescaped(host).decode(errors="replace")


def _check_escape(escape: bytes) -> None:
    if len(escape) < 3 or escape[1] not in _HEX or escape[2] not in _HEX:
        raise NoURL(f"invalid URL escape {quoted(escape.decode(errors='replace'))}")


def _unescaped(text: str, *, plus: bytes = b"+") -> bytes:
    data = text.encode()
    if b"%" not in data:
        return data.replace(b"+", plus)
    made, index = bytearray(), 0
    while index < len(data):
        if data[index] == ord("%"):
            _check_escape(data[index : index + 3])
            made.append(int(data[index + 1 : index + 3], 16))
            index += 3
        else:
            made += plus if data[index] == ord("+") else data[index : index + 1]
            index += 1
    return bytes(made)


def _escaped(path: bytes) -> str:
    return "".join(chr(byte) if byte in _OF_PATHS else f"%{byte:02X}" for byte in path)


def values_of(query: str) -> dict[str, list[str]]:
    """Return the values in the query of a URL by key; malformed pairs are left out."""
    found: dict[str, list[str]] = {}
    for pair in query.split("&"):
        if not pair or ";" in pair:
            continue
        key, _, value = pair.partition("=")
        try:
            words = [_unescaped(word, plus=b" ").decode(errors="replace") for word in (key, value)]
        except NoURL:
            continue
        found.setdefault(words[0], []).append(words[1])
    return found


def host_and_port(host: str) -> tuple[str, str]:
    """Return the host name without brackets, and the port, which is empty if absent."""
    name, port = host, ""
    colon = host.rfind(":")
    if colon >= 0 and _PORT.fullmatch(host[colon:]):
        name, port = host[:colon], host[colon + 1 :]
    return (name[1:-1] if name.startswith("[") and name.endswith("]") else name), port

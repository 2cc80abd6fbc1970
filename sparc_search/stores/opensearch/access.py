"""How a server may be talked to: addresses, who we are, and what is refused for safety."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from ...errors import ConfigError


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """Addresses and credentials. Secrets do not show in its representation."""

    urls: tuple[str, ...]
    user: str = ""
    password: str = field(default="", repr=False)
    api_key: str = field(default="", repr=False)
    ca_file: str = ""

    @property
    def shown(self) -> str:
        """The addresses, fit to be printed."""
        return ", ".join(self.urls)


def access_of(settings: Mapping[str, object]) -> ServerAccess:
    """The access that settings describe; `ConfigError` if it is not safe."""
    urls = tuple(url.strip().rstrip("/") for url in str(settings["url"]).split(",") if url.strip())
    if not urls:
        raise ConfigError("url names no server", "set it to an address such as http://127.0.0.1:9200")
    for url in urls:
        _check_url(url, allow_http=bool(settings["allow_http"]))
    user, api_key = str(settings["user"]), _secret(settings, "api_key")
    password = _secret(settings, "password")
    if user and api_key:
        raise ConfigError("user and api_key exclude each other", "set one of them")
    if bool(user) != bool(password):
        raise ConfigError("user and password go together", "set both, or none (password_file may hold the password)")
    return ServerAccess(urls, user, password, api_key, str(settings["ca_file"]))


def _check_url(url: str, *, allow_http: bool) -> None:
    parts = _parts(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"url is {_without_user(parts)!r}", "it must begin with http:// or https:// and name a host")
    if parts.username or parts.password:
        raise ConfigError(
            f"url holds a user or a password: {_without_user(parts)}",
            "take them out, and set SPARC_SEARCH_USER and SPARC_SEARCH_PASSWORD (or password_file)",
        )
    if parts.query or parts.fragment:
        raise ConfigError(f"url is {url!r}", "leave out what follows ? or #")
    if parts.scheme == "http" and not allow_http and not _is_loopback(parts.hostname):
        raise ConfigError(
            f"{url} is another machine, and http is not encrypted",
            "use https, or set allow_http = true if the network is yours",
        )


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  (a wrong one shows when it is looked at)
    except ValueError as error:
        raise ConfigError("url cannot be read", f"correct it: {error}") from error
    return parts


def _without_user(parts: SplitResult) -> str:
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _secret(settings: Mapping[str, object], key: str) -> str:
    """A secret from the settings, or from the file that they name."""
    value, path = str(settings[key]), str(settings[f"{key}_file"])
    if not path:
        return value
    if value:
        raise ConfigError(f"{key} and {key}_file exclude each other", "set one of them")
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {key}_file {path}", "name a readable text file") from error

"""The base of every config: frozen, closed to unknown names, read and written as plain YAML."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from multiway.errors import ConfigError, closest, ended

MAX_CONFIG_BYTES = 1_000_000
DEEPEST = 50
"""Levels of nesting in YAML at most."""
LARGEST = 2**63 - 1
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""In C, ten times as fast, where the library was built so."""
Plain = dict[str, Any]
"""Values by name, as YAML and JSON hold them; mappings among them have names too."""


class Config(BaseModel):
    """A frozen pydantic model that refuses unknown fields and names the nearest known one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def parse(cls, values: object, where: str = "config") -> Self:
        """Build from plain values.

        Raises:
            ConfigError: A field is unknown, missing or out of range; all of them are named in one line.

        """
        beyond = next(_beyond(values), None)
        if beyond is not None:
            raise ConfigError(f"{where}: {beyond}: a whole number has 64 bits at most.")
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise ConfigError(f"{where}: {_one_line(error, cls)}") from None

    def replace(self, **changes: Any) -> Self:
        """Copy with some fields changed, rechecked."""
        return self.parse({**self.model_dump(), **changes}, type(self).__name__)

    def plain(self) -> Plain:
        """Fields as what YAML and JSON can hold; `parse` takes it back to an equal config."""
        return self.model_dump(mode="json")


def read_yaml(text: str) -> Any:
    """Plain values from a text.

    Raises:
        ConfigError: It is not YAML, uses aliases, or is nested deeper than any config.
    """
    try:
        _check_nodes(text)
        return yaml.load(text, _LOADER)  # a safe one
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"is not readable YAML: {' '.join(str(error).split())[:200]}.") from None


def _check_nodes(text: str) -> None:
    """Refuse aliases, which let a few bytes unfold into gigabytes, and more levels than any config needs."""
    depth = 0
    for event in yaml.parse(text, _LOADER):
        if isinstance(event, yaml.AliasEvent):
            raise yaml.YAMLError("a config is written without aliases")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise yaml.YAMLError(f"more than {DEEPEST} levels of nesting")


def load_yaml(path: Path) -> Plain:
    """Read one mapping of plain values from a YAML file.

    Raises:
        ConfigError: The file is missing, larger than 1 MB, not YAML, uses aliases, is nested deep, or is no mapping.

    """
    text = _read_small(path)
    try:
        values = read_yaml(text)
    except ConfigError as error:
        raise ConfigError(f"{path} {error}") from None
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise ConfigError(f"{path} must hold one mapping of names to plain values, without aliases.")
    return values


def merge(below: Plain, above: Plain) -> Plain:
    """Nested mappings, the second winning."""
    result = dict(below)
    for name, value in above.items():
        old = result.get(name)
        result[name] = merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result


def nest(field: str, value: object) -> Plain:
    """The nested mapping that has a value at a place such as "read.missing"."""
    first, _, rest = field.partition(".")
    return {first: nest(rest, value) if rest else value}


def leaves(settings: Mapping[str, Any], prefix: str = "") -> Plain:
    """Values of nested mappings by their place, such as "read.missing"."""
    result: Plain = {}
    for name, value in settings.items():
        result |= leaves(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return result


def _read_small(path: Path) -> str:
    if not path.is_file():
        raise ConfigError(f"{path} is not a file. Give the path of a YAML file.")
    if path.stat().st_size > MAX_CONFIG_BYTES:
        raise ConfigError(f"{path} has {path.stat().st_size:,} bytes; a config has at most {MAX_CONFIG_BYTES:,}.")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not readable YAML: {error}.") from None


def _beyond(values: object, place: str = "") -> Iterator[str]:
    """Places of whole numbers that no tensor or file can hold."""
    if isinstance(values, Mapping):
        for name, value in values.items():
            yield from _beyond(value, f"{place}.{name}".removeprefix("."))
    elif isinstance(values, list | tuple):
        for value in values:
            yield from _beyond(value, place)
    elif isinstance(values, int) and abs(values) > LARGEST:
        yield place


def _one_line(error: ValidationError, cls: type[BaseModel]) -> str:
    return ended("; ".join(_describe(item, cls) for item in error.errors()))


def _describe(item: Any, cls: type[BaseModel]) -> str:
    name = ".".join(str(part) for part in item["loc"])
    if item["type"] == "extra_forbidden":
        near = closest(str(item["loc"][-1]), _fields_at(cls, item["loc"][:-1]))
        return f"{name} is not a known field{near.removesuffix('.').replace(';', ',')}"
    message = item["msg"].removeprefix("Value error, ").rstrip(".")
    got = f" (got {item['input']!r})" if item["loc"] and not isinstance(item["input"], dict) else ""
    return f"{name}: {message}{got}" if name else message


def _fields_at(cls: type[BaseModel], path: tuple[Any, ...]) -> list[str]:
    for part in path:
        inner = cls.model_fields[part].annotation if part in cls.model_fields else None
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return []
        cls = inner
    return list(cls.model_fields)

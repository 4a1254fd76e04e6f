"""The base of every config: frozen, closed to unknown names, kept as plain YAML; and the flags of its fields."""

import dataclasses
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Self, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from multiway.errors import ConfigError, closest, end_sentence

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
        truth = next(_truths(cls, values), None)
        if truth is not None:
            raise ConfigError(
                f"{where}: {truth}: yes, no, on, off, true and false are truth values. Give another value."
            )
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            said = "; ".join(_describe(item, cls) for item in error.errors())
            raise ConfigError(f"{where}: {end_sentence(said)}") from None

    def replace(self, **changes: Any) -> Self:
        """Copy with some fields changed, rechecked; fields that nobody set stay so."""
        return self.parse({**self.model_dump(exclude_unset=True), **changes}, type(self).__name__)

    def plain(self) -> Plain:
        """Fields as what YAML and JSON can hold; `parse` takes it back to an equal config."""
        return self.model_dump(mode="json")


OF_FIELD = object()
"""In place of a usual value that is that of the field."""


@dataclasses.dataclass(frozen=True)
class Flag:
    """On the annotation of a field: the option and the argument of estimators that set it.

    A field without one is reached by `--set` and `settings` alone.

    help: What it is, a sentence.
    name: Of the option and the argument, where it is not that of the field.
    option: Of the option, where it is not that of the argument.
    commands: Which take the option; none where it is an argument alone.
    read: From the text of an option to a value, by the annotation if not given; ValueError says what is wanted.
    choices: The values it can have, by the annotation if not given.
    key: Where the field is a mapping: the name in it that is set.
    usual: Value of the argument where none is given; None leaves it to the config.
    is_argument: Whether estimators have it.
    """

    help: str
    _: dataclasses.KW_ONLY
    name: str = ""
    option: str = ""
    commands: tuple[str, ...] = ("train", "check", "audit")
    read: Callable[[str], object] | None = None
    choices: tuple[str, ...] = ()
    key: str = ""
    usual: object = OF_FIELD
    is_argument: bool = True


@dataclasses.dataclass(frozen=True, kw_only=True)
class Setting:
    """A field with a flag.

    name: Of the option.
    argument: Of estimators; empty where they have none.
    field: Its place in the config, such as "read.missing".
    default: Its usual value.
    usual: That of the argument.
    kind: Its type.
    is_switch: Whether the option has no value.
    """

    name: str
    argument: str
    field: str
    help: str
    commands: tuple[str, ...]
    read: Callable[[str], object]
    choices: tuple[str, ...]
    default: object
    usual: object
    kind: Any
    is_switch: bool


def settings_in(config: type[BaseModel], usual: Plain | None = None, place: str = "") -> Iterator[Setting]:
    """Every field of a config that has a flag: its own, then those of its parts, whose usual values it gives."""
    if usual is None:
        fields = {name: field for name, field in config.model_fields.items() if not field.is_required()}
        usual = {name: field.get_default(call_default_factory=True) for name, field in fields.items()}
    for name, field in config.model_fields.items():
        kind = _without_none(field.annotation)
        for flag in (each for each in field.metadata if isinstance(each, Flag)):
            default, argument = usual.get(name), flag.name or flag.key or name
            if flag.key:
                default = default.get(flag.key) if isinstance(default, Mapping) else None
            yield Setting(
                name=flag.option or argument,
                argument=argument if flag.is_argument else "",
                field=f"{place}{name}.{flag.key}".removesuffix("."),
                help=flag.help,
                commands=flag.commands,
                read=flag.read or (str if flag.key else reader_of(kind)),
                choices=flag.choices or (get_args(kind) if get_origin(kind) is Literal else ()),
                default=default,
                usual=default if flag.usual is OF_FIELD else flag.usual,
                kind=str | None if flag.key else field.annotation,
                is_switch=kind is bool,
            )
    for name, field in config.model_fields.items():
        kind, part = _without_none(field.annotation), usual.get(name)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from settings_in(kind, {} if part is None else dict(part), f"{place}{name}.")


def _without_none(kind: Any) -> Any:
    """The type of a value that is given."""
    if get_origin(kind) not in (Union, types.UnionType):
        return kind
    return next(each for each in get_args(kind) if each is not types.NoneType)


def reader_of(kind: object) -> Callable[[str], object]:
    """What reads a value of some type from the text of an option."""
    parts = get_args(kind)
    if get_origin(kind) is tuple:
        return read_names if parts[0] is str else numbers(parts[0], len(parts))
    readers: dict[object, Callable[[str], object]] = {int: read_whole, float: read_number}
    return readers.get(kind, str)


def read_names(text: str) -> list[str]:
    """Split "a,b" into names."""
    return [part.strip() for part in text.split(",") if part.strip()]


def numbers(kind: type[int] | type[float], amount: int) -> Callable[[str], list[int | float]]:
    """A reader that splits "64,64,64" into so many numbers."""

    def read(text: str) -> list[int | float]:
        try:
            values: list[int | float] = [kind(part) for part in text.split(",")]
        except ValueError:
            values = []
        if len(values) != amount:
            what = "whole numbers" if kind is int else "numbers"
            raise ValueError(f"give {amount} {what}, separated by commas")
        return values

    return read


def read_whole(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise ValueError("give a whole number of at least 1")
    return int(text)


def read_number(text: str) -> float:
    """A number."""
    try:
        return float(text)
    except ValueError:
        raise ValueError("give a number") from None


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
    if not path.is_file():
        raise ConfigError(f"{path} is not a file. Give the path of a YAML file.")
    if path.stat().st_size > MAX_CONFIG_BYTES:
        raise ConfigError(f"{path} has {path.stat().st_size:,} bytes; a config has at most {MAX_CONFIG_BYTES:,}.")
    try:
        values = read_yaml(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not readable YAML: {error}.") from None
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


def _truths(kind: type[BaseModel], values: object, place: str = "") -> Iterator[str]:
    """Names of the fields that hold a truth value and take none: pydantic reads one as 1 or 0."""
    for name, value in values.items() if isinstance(values, Mapping) else ():
        field = kind.model_fields.get(name)
        part = None if field is None else _without_none(field.annotation)
        if isinstance(part, type) and issubclass(part, BaseModel):
            yield from _truths(part, value, f"{place}{name}.")
        elif field is not None and _has_truth(value) and not _takes_truth(field.annotation):
            yield f"{place}{name}"


def _has_truth(value: object) -> bool:
    """Whether a value is a truth value, or holds one."""
    return isinstance(value, bool) or (isinstance(value, list | tuple) and any(map(_has_truth, value)))


def _takes_truth(kind: Any) -> bool:
    """Whether a type can be a truth value, or hold one, or any value."""
    return kind in (bool, Any, object) or any(map(_takes_truth, get_args(kind)))


def _beyond(values: object, place: str = "") -> Iterator[str]:
    """Places of whole numbers that no tensor or file can hold."""
    if isinstance(values, list | tuple):
        for value in values:
            if not isinstance(value, float):  # most are, where there are many
                yield from _beyond(value, place)
    elif isinstance(values, int):
        if abs(values) > LARGEST:
            yield place
    elif isinstance(values, Mapping):
        for name, value in values.items():
            yield from _beyond(value, f"{place}.{name}".removeprefix("."))


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

"""The manifest of a packed study: what it may say, declared once; and folders at an address.

A manifest comes from outside, and its checksum only says that it arrived as somebody wrote it. So each value is held
against the records below before anything is opened, and then the records against each other: files have plain names of
a few kinds, parts follow each other without gaps, and a file is as long as what it is said to hold.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import ipaddress
import json
import os
import re
import types
import typing
import urllib.parse
import urllib.request
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import IO, Annotated, Any, Literal

import numpy as np
import platformdirs

from plurivox.base.arguments import LARGEST, Kind, fits, shown
from plurivox.base.errors import FileError, MissingExtraError, PlurivoxError
from plurivox.base.files import writing
from plurivox.base.wording import short
from plurivox.domain.check import Intake
from plurivox.domain.choices import Conflicts, Duplicates
from plurivox.domain.part import pair_bits
from plurivox.domain.scale import Scale

MANIFEST = "manifest.json"
FORM = 2
"""The form that this version writes. It also reads form 1, in which checksums are CRC-32."""
LARGEST_MANIFEST = 64 << 20
"""The most bytes of a manifest; one of 100,000 parts has about 30 MB."""
_ALIGNED = 64
NAME = re.compile(r"(part|items|raters|counts|map)-\d{4,9}(-\d{4,9})?(-items|-raters)?\.(bin|parquet)", re.ASCII)
_CHECKSUM = re.compile(r"sha256:[0-9a-f]{64}|crc32:[0-9a-f]{8}")
_NONE = "crc32:00000000"


def _number(most: int) -> Kind:
    return Kind(f"a whole number up to {most:,}", lambda given: fits(given, int) and 0 <= given <= most)


def _text(pattern: re.Pattern[str]) -> Kind:
    return Kind("a text", lambda given: isinstance(given, str) and pattern.fullmatch(given) is not None)


Code = Annotated[int, _number(2**31 - 1)]
Number = Annotated[int, _number(LARGEST)]


@dataclass(frozen=True, slots=True)
class File:
    """A file in the folder: its name, its size and its checksum, which names its kind: ``sha256:…``."""

    name: Annotated[str, _text(NAME)]
    size: Number
    checksum: Annotated[str, _text(_CHECKSUM)]

    def matches(self, content: Any) -> bool:
        """Return whether bytes have the checksum."""
        kind, _, digits = self.checksum.partition(":")
        return digits == (f"{zlib.crc32(content):08x}" if kind == "crc32" else hashlib.sha256(content).hexdigest())


NOTHING = File("", 0, _NONE)
"""Stands for a table that is not written yet."""


@dataclass(frozen=True, slots=True)
class PartFile(File):
    """A run of whole items: how many ratings each has, then the rater and the score of each rating.

    ``first`` is the code of the first item within its layer; ``types`` are those of the three arrays.
    """

    first: Code
    n_items: Code
    n_ratings: Number
    types: tuple[Literal["|u1", "<u2", "<u4"], Literal["|u1", "<u2", "<i4"], Literal["|u1", "<i2"]]

    @property
    def items(self) -> slice:
        """Its items within the layer."""
        return slice(self.first, self.first + self.n_items)

    @property
    def places(self) -> list[tuple[int, int]]:
        """Where its three arrays begin and end; each begins at a multiple of 64 bytes."""
        found, at = [], 0
        for dtype, length in zip(self.types, (self.n_items, self.n_ratings, self.n_ratings), strict=True):
            size = np.dtype(dtype).itemsize * length
            found.append((at, at + size))
            at += padded(size)
        return found


@dataclass(frozen=True, slots=True)
class Layer:
    """What one call of pack wrote: parts that cover all items at that time, in the codes of that time.

    If later calls brought new ids, maps give the current code of each item and rater; both are in the same order.
    ``shift`` is added to scores if the scale has grown at its lower end.
    """

    parts: tuple[PartFile, ...]
    items: File | None = None
    raters: File | None = None
    shift: Code = 0

    @property
    def n_items(self) -> int:
        """How many items it covers."""
        return self.parts[-1].first + self.parts[-1].n_items


@dataclass(frozen=True, slots=True)
class Packing:
    """How the ratings were read, which appended ones are, too."""

    duplicates: Duplicates
    conflicts: Conflicts
    unknown: list[str]
    rater_attributes: list[str]
    item_attributes: list[str]


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything that is known about a packed study, and the files that hold the rest."""

    generation: Annotated[int, _number(10**9 - 1)]
    n_items: Code
    n_raters: Code
    n_ratings: Number
    scale: Scale
    intake: Intake
    items: File
    raters: File
    counts: File
    layers: tuple[Layer, ...]
    rules: Packing
    several: dict[str, dict[str, list[int]]]
    versions: dict[str, str]
    sha256: str = field(default="", compare=False)
    """That of the manifest itself, once it is written."""

    @property
    def all_files(self) -> Iterator[File]:
        """All files but the manifest."""
        yield from (self.items, self.raters, self.counts)
        for layer in self.layers:
            yield from layer.parts
            yield from (one for one in (layer.items, layer.raters) if one is not None)

    @property
    def files(self) -> set[str]:
        """The names of all files that belong to the study."""
        return {MANIFEST, *(one.name for one in self.all_files)}


def padded(size: int) -> int:
    """Return the room that an array takes in a part."""
    return -(-size // _ALIGNED) * _ALIGNED


# Writing and reading --------------------------------------------------------------------------------------------------


def text_of(manifest: Manifest) -> bytes:
    """Return a manifest as JSON."""
    known: dict[str, Any] = asdict(replace(manifest, sha256="")) | {"form": FORM, "scale": manifest.scale.to_dict()}
    del known["sha256"]
    known = json.loads(_plain(known))
    return json.dumps({**known, "crc": zlib.crc32(_plain(known))}, indent=1).encode()


def _plain(known: Mapping[str, Any]) -> bytes:
    return json.dumps(known, sort_keys=True).encode()


class OtherFormError(ValueError):
    """A manifest of a form that this version does not know."""


def manifest_of(text: bytes) -> Manifest:
    """Return a manifest from JSON, or raise a ValueError that says what in it is wrong."""
    try:
        known = json.loads(text, parse_int=_bounded, parse_constant=_bounded)
        if not isinstance(known, dict):
            raise ValueError(f"it is {shown(known)}")
        form, crc = known.pop("form"), known.pop("crc")
        if crc != zlib.crc32(_plain({**known, "form": form})):
            raise ValueError("its checksum differs")
        json.dumps(known, ensure_ascii=False).encode()  # halves of characters are an error
        if type(form) is not int or form not in (1, FORM):
            raise OtherFormError(shown(form))
        found: Manifest = _record(Manifest, _form_2(known) if form == 1 else known, "it")
    except KeyError as error:
        raise ValueError(f"{error} is missing") from None
    except (TypeError, AttributeError, RecursionError, PlurivoxError) as error:
        raise ValueError(str(error)) from None
    _check(found)
    return replace(found, sha256=hashlib.sha256(text).hexdigest())


def _bounded(text: str) -> int:
    if (number := int(text)) != min(max(number, -LARGEST), LARGEST):
        raise ValueError("a number in it is too large")
    return number


def _form_2(known: Any) -> Any:
    """Return a manifest of form 1 in form 2: checksums say that they are CRC-32."""
    if isinstance(known, list):
        return [_form_2(one) for one in known]
    if not isinstance(known, dict):
        return known
    found = {name: _form_2(one) for name, one in known.items()}
    return found | {"checksum": f"crc32:{found.pop('crc'):08x}"} if {"name", "size", "crc"} <= found.keys() else found


def _record(cls: Any, known: Any, where: str) -> Any:
    """Return a record from JSON; what has a default may be missing."""
    if not isinstance(known, dict):
        raise ValueError(f"{where} is {shown(known)}")
    kinds, needed = _fields_of(cls)
    for name in sorted((needed - known.keys()) | (known.keys() - kinds.keys())):
        raise ValueError(f"{where} {'has no' if name in needed else 'has an unknown'} {shown(name)}")
    return cls(**{name: _value(kinds[name], one, name) for name, one in known.items()})


@functools.cache
def _fields_of(cls: Any) -> tuple[dict[str, Any], set[str]]:
    """Return what each field may be, and which are needed."""
    needed = {one.name for one in fields(cls) if one.default is MISSING and one.default_factory is MISSING}
    return typing.get_type_hints(cls, include_extras=True), needed


def _value(kind: Any, given: Any, where: str) -> Any:
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if kind is Scale:
        return Scale.from_dict(given)
    if origin is types.UnionType:
        return None if given is None else _value(parts[0], given, where)
    if is_dataclass(kind):
        return _record(kind, given, where)
    if origin is tuple and parts[-1] is ... and isinstance(given, list):
        return tuple(_value(parts[0], one, f"{where} {at}") for at, one in enumerate(given))
    if not fits(given, kind):
        raise ValueError(f"{where} is {shown(given)}")
    return tuple(given) if origin is tuple else given


# What must agree ------------------------------------------------------------------------------------------------------


def _check(found: Manifest) -> None:
    """Raise a ValueError unless the records of a manifest agree with each other."""
    files = list(found.all_files)
    if len(files) != len({one.name for one in files}):
        raise ValueError("it names a file twice")
    if found.counts.size != 4 * found.n_items:
        raise ValueError(f"{found.counts.name} does not have a count for each item")
    if not found.layers:
        raise ValueError("it has no parts")
    for layer in found.layers:
        _check_layer(layer, found)
    last = found.layers[-1]
    if replace(last, parts=()) != Layer(()) or last.n_items != found.n_items:
        raise ValueError("its last layer does not cover all items")
    n_ratings = sum(part.n_ratings for layer in found.layers for part in layer.parts)
    if n_ratings < found.n_ratings or (len(found.layers) == 1 and n_ratings != found.n_ratings):
        raise ValueError(f"its parts have {n_ratings:,} ratings, not {found.n_ratings:,}")
    try:
        pair_bits(found.n_raters, len(found.scale), found.n_items)
    except PlurivoxError as error:
        raise ValueError(str(error)) from None
    if found.intake.time_unit or found.intake.kept_repeats:
        raise ValueError("it has times or repeats, which are not packed")
    _check_several(found)


def _check_layer(layer: Layer, found: Manifest) -> None:
    at = 0
    for part in layer.parts:
        if part.first != at:
            raise ValueError(f"{part.name} begins with item {part.first:,}, not {at:,}")
        if part.size != padded(part.places[-1][1]):
            raise ValueError(f"{part.name} is said to have {part.size:,} bytes, which does not fit what it holds")
        at = part.items.stop
    if not layer.parts or at > found.n_items or layer.shift >= len(found.scale):
        raise ValueError("its parts do not fit its items and its scale")
    for file, least, most in ((layer.items, at, found.n_items), (layer.raters, 0, found.n_raters)):
        if file is not None and (file.size % 4 or not least <= file.size // 4 <= most):
            raise ValueError(f"{file.name} has {file.size // 4:,} codes, too few or too many")


def _check_several(found: Manifest) -> None:
    known = {"item": found.n_items, "rater": found.n_raters}
    for role, whose in found.several.items():
        for codes in whose.values():
            if codes and not 0 <= min(codes) <= max(codes) < known.get(role, 0):
                raise ValueError(f"it names {role}s with several values that are not there")


# Addresses ------------------------------------------------------------------------------------------------------------
#
# A file of a packed study at an address is fetched when first needed, kept in the cache and mapped there. An address
# begins with ``https://``, which Python reads itself, or names an object store that fsspec has (``s3://``, ``gs://``,
# ``abfs://``). Who may read a store is decided there, never here. Every machine fetches only the parts it works on.
#
# A server decides nothing here but the bytes that it sends, of which no more are read than the manifest says: no other
# protocol is used, redirects lead only to https, and files in the cache have names of ours.


STORES = ("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "memory")
"""The protocols of object stores; ``memory`` is one within the process."""
TIMEOUT = 30.0
_PIECE = 1 << 20
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")  # a single letter would be a drive
_ODD = re.compile(r"[\s*?\[\]{}#\\]|::")  # what fsspec takes for a pattern or a chain


def is_address(name: str | os.PathLike[str] | bytes) -> bool:
    """Return whether a name is the address of a packed study.

    Examples
    --------
    >>> [is_address(name) for name in ("s3://bucket/study.pvx", "study.pvx", "C:/study.pvx", "s3://bucket/a.csv")]
    [True, False, False, False]
    """
    text = os.fsdecode(name)
    return _ADDRESS.search(text) is not None and text.rstrip("/").endswith(".pvx")


class RemoteFolder:
    """A folder at an address, used instead of a path; made only of addresses that may be read."""

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        found = _ADDRESS.match(address)
        self._protocol = "" if found is None else found[1].lower()
        allowed = self._protocol in ("https", *STORES) or (self._protocol == "http" and _is_here(self.address))
        if not allowed or _ODD.search(self.address):
            raise FileError(
                "packed studies are not read from such addresses", source=address,
                hint=f"Use https, or an object store ({', '.join(STORES[:-1])}); http only leads to this machine.",
            )  # fmt: skip

    def __fspath__(self) -> str:
        return self.address

    def __str__(self) -> str:
        return self.address

    def absolute(self) -> RemoteFolder:
        """Return the same address, since it is absolute."""
        return self

    @property
    def cache(self) -> Path:
        """Where its files are kept on this machine."""
        name = hashlib.blake2b(self.address.encode(), digest_size=12).hexdigest()
        return platformdirs.user_cache_path("plurivox") / "packed" / name

    @property
    def log(self) -> Path:
        """Where finished work is logged."""
        self.cache.parent.mkdir(parents=True, exist_ok=True)
        return self.cache.with_suffix(".log")

    def read(self, name: str, most: int) -> bytes:
        """Fetch a file that has at most so many bytes."""
        return b"".join(self._pieces(name, most))

    def place(self, file: File) -> Path:
        """Return where a file is on this machine, after fetching it if it is not there yet."""
        path = self.cache / f"{file.checksum.replace(':', '-')}-{file.size}"
        if not path.is_file() or path.stat().st_size != file.size:
            path.parent.mkdir(parents=True, exist_ok=True)
            with writing(path) as kept:
                for piece in self._pieces(file.name, file.size):
                    kept.write(piece)
        return path

    def _pieces(self, name: str, most: int) -> Iterator[bytes]:
        """Yield a file piece by piece; raise an error if it goes on after the bytes that it may have."""
        left = most
        with self._telling(name):
            stream = self._opened(f"{self.address}/{name}")
        with contextlib.closing(stream):
            while True:
                with self._telling(name):
                    piece = bytes(stream.read(min(_PIECE, left + 1)))
                if not piece:
                    return
                left -= len(piece)
                if left < 0:
                    raise FileError(
                        f"its file {name} goes on after {most:,} bytes", source=self.address,
                        hint="It is not what was packed; do not trust it.",
                    )  # fmt: skip
                yield piece

    def _opened(self, address: str) -> IO[bytes]:
        if self._protocol in ("http", "https"):
            request = urllib.request.Request(address, headers={"User-Agent": "plurivox"})  # noqa: S310 - is allowed
            found: IO[bytes] = urllib.request.build_opener(_Redirects).open(request, timeout=TIMEOUT)
        else:
            try:
                import fsspec  # type: ignore[import-untyped]
            except ImportError:
                raise MissingExtraError("packed studies in an object store need fsspec", "dask") from None
            found = fsspec.open(address, "rb").open()
        return found

    @contextlib.contextmanager
    def _telling(self, name: str) -> Iterator[None]:
        """Turn anything that comes from a store, such as permissions and the network, into an error of ours."""
        try:
            yield
        except (FileError, MissingExtraError):
            raise
        except ImportError as error:
            raise FileError(short(str(error)), source=self.address, hint="Install the package that it names.") from None
        except Exception as error:
            kind, what = type(error).__name__, short(str(error))
            raise FileError(f"its file {name} cannot be fetched ({kind}: {what})", source=self.address) from None


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects only to https."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        """Return the request that follows, none elsewhere, so that the answer is an error."""
        if not newurl.lower().startswith("https://"):
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _is_here(address: str) -> bool:
    """Return whether an address leads to this machine."""
    try:
        host = urllib.parse.urlsplit(address).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

"""The image view: a picture, its clusters or regions, and what can be taken along.

Regions come from a hierarchy that is computed once; a cut of it is a table from its finest regions
(pieces) to labels. The page has the pieces already, so an answer to the detail slider is that small
table and nothing else. Clusters are computed anew for each bandwidth.

While a slider is dragged the answer is at preview size, from every k-th pixel: a fair sample of
the picture's colours, unlike one made smaller by averaging. At rest it is at full size.
"""

from __future__ import annotations

import io
import json
import math
import shlex
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.extras import need
from meanshiftpp.apps.studio.session import Answer, Job, Source, Wish
from meanshiftpp.apps.studio.wire import narrow, pack
from meanshiftpp.core.recipe import Recipe
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.images import draw, picture
from meanshiftpp.images import pixels as _pixels
from meanshiftpp.images import segmentation as image

__all__ = ["ImageView", "Settings"]

PREVIEW = 400_000  # pixels while dragging
EXACT = 2_000_000  # up to here cuts while dragging are of the full picture
SHOWN = 16_000_000  # labels the page gets at most
PHOTO_SHOWN = 4_000_000  # and pixels of the photograph
LARGEST = 64_000_000  # pixels a picture may have here
_FINEST = 1e12  # a detail at which nothing is merged
_NUMBERS = count(1)
_PHOTO = {"quality": 92, "subsampling": 0}


@dataclass(frozen=True)
class Settings:
    """What is asked for, in the words of `segment`; sizes are those of the full picture."""

    regions: bool = True
    bandwidth: float | None = None
    space: str | None = "lab"
    spatial: float | None = None
    detail: float = 1.0
    min_size: int | None = None

    @classmethod
    def of(cls, wish: Wish) -> Settings:
        """Read a wish, trusting nothing in it."""
        regions = bool(wish.get("regions", True))
        space = wish.get("space", "lab")
        if space not in (*_pixels.SPACES, None):
            raise InvalidInputError(f"there is no colour space {space!r}")
        return cls(
            regions,
            _number(wish, "bandwidth"),
            space,
            _number(wish, "spatial"),
            (_number(wish, "detail") or 1.0) if regions else 1.0,
            (int(_number(wish, "min_size") or 0) or None) if regions else None,
        )

    @property
    def tree(self) -> tuple[Any, ...]:
        """What a hierarchy depends on."""
        return self.bandwidth, self.space, self.spatial

    def arguments(self) -> dict[str, Any]:
        """Give the arguments of `segment` that are not its defaults."""
        mine, default = vars(self), vars(Settings())
        return {name: value for name, value in mine.items() if value != default[name]}

    def shrunk(self, scale: float) -> Settings:
        """Translate sizes to a picture of another scale."""
        spatial = None if self.spatial is None else max(self.spatial * scale, 1.0)
        size = None if self.min_size is None else max(1, round(self.min_size * scale * scale))
        return replace(self, spatial=spatial, min_size=size)


class Pieces:
    """The finest regions of a picture, or its clusters: any result is a table from them to labels.

    Numbers are from 1; 0 is for pixels that are masked out.
    """

    def __init__(
        self, labels: NDArray[np.int32], channels: list[NDArray[np.uint8]], shape: tuple[int, ...]
    ) -> None:
        self.number, self.shape = next(_NUMBERS), shape
        self.ids = (labels + 1).ravel().astype(np.intp)
        self.sizes = np.bincount(self.ids)
        self.sums = np.stack([np.bincount(self.ids, channel) for channel in channels])

    def __len__(self) -> int:
        return len(self.sizes)

    def joined(self, table: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Give the number of pixels and the mean colour of each label in a table."""
        n = int(table.max()) + 1
        counts = np.bincount(table, self.sizes, n)
        sums = np.stack([np.bincount(table, channel, n) for channel in self.sums], axis=1)
        colours = np.rint(sums / np.maximum(counts, 1)[:, None])
        return counts.astype(np.int64), colours.astype(np.uint8)

    def first(self) -> NDArray[np.intp]:
        """Find one pixel of each piece."""
        place = np.zeros(len(self), np.intp)
        place[self.ids] = np.arange(len(self.ids))
        return place

    def shown(self) -> NDArray[Any]:
        """Give the ids as an image small enough for the page."""
        step = math.ceil(math.sqrt(max(len(self.ids) / SHOWN, 1)))
        return narrow(self.ids.reshape(self.shape)[::step, ::step], len(self) - 1)


class Still:
    """A picture at one size, and what has been computed of it."""

    def __init__(self, photo: picture.Picture, scale: float) -> None:
        self.values, self.scale = photo.values, scale
        self._layout: dict[str, Any] = {"channel_axis": photo.channel_axis, "mask": photo.mask}
        shown = draw.limits(photo.values, photo.channel_axis, mask=photo.mask)
        self.rgb = draw.as_rgb(photo.values, photo.channel_axis, limits=shown)
        self.shape = self.rgb.shape[:2]
        self._channels = [np.ascontiguousarray(self.rgb[..., c]).ravel() for c in range(3)]
        # A preview takes less time than waking other threads, on a busy machine above all.
        self._threads = 1 if self.size <= PREVIEW else None
        self._tree: tuple[Any, image.Hierarchy, Pieces, NDArray[np.intp]] | None = None
        self._pixels: tuple[str | None, _pixels.Pixels] | None = None

    @property
    def size(self) -> int:
        """How many pixels it has."""
        return math.prod(self.shape)

    def has(self, settings: Settings) -> bool:
        """Whether an answer needs no more than a cut."""
        held = self._tree
        return settings.regions and held is not None and held[0] == settings.tree

    def result(self, settings: Settings) -> tuple[Pieces, NDArray[np.intp]]:
        """Give the pieces, and for each the label it has: 0 for masked pixels, then from 1."""
        mine = settings.shrunk(self.scale)
        if not settings.regions:
            pieces = Pieces(self._clusters(mine), self._channels, self.shape)
            return pieces, np.arange(len(pieces))
        held = self._tree  # of one thread: another may put a newer one in its place meanwhile
        if held is None or held[0] != settings.tree:
            held = self._tree = None  # one at a time: they are large
            tree = image.hierarchy(
                self.values,
                mine.bandwidth,
                space=mine.space,
                spatial=mine.spatial,
                n_threads=self._threads,
                **self._layout,
            )
            pieces = Pieces(tree.cut(_FINEST), self._channels, self.shape)
            held = self._tree = settings.tree, tree, pieces, pieces.first()
        _, tree, pieces, first = held
        labels = tree.cut(mine.detail, min_size=mine.min_size).ravel()[first] + 1
        if pieces.sizes[0] == 0:
            labels[0] = 0
        return pieces, labels.astype(np.intp)

    def _clusters(self, mine: Settings) -> NDArray[np.int32]:
        if mine.bandwidth is not None and mine.spatial is None and self.size <= EXACT:
            pixels = self._read(mine.space)
            if pixels.mask is None:  # what `segment` does, with its first step kept
                recipe = Recipe(mine.bandwidth).checked(pixels.features.shape[1])
                return recipe.fit(pixels.features, n_threads=self._threads)[1]
        options = {**mine.arguments(), **self._layout}
        return image.segment(self.values, n_threads=self._threads, **options)

    def _read(self, space: str | None) -> _pixels.Pixels:
        if self._pixels is None or self._pixels[0] != space:
            read = _pixels.read_pixels(self.values, space, n_threads=None, **self._layout)
            self._pixels = space, read
        return self._pixels[1]


class ImageView:
    """One picture at two sizes."""

    def __init__(self) -> None:
        self._source: Source | None = None
        self._photo: picture.Picture
        self._full: Still
        self._small: Still
        self._done: tuple[Any, Settings] | None = None  # the wish last answered in full

    # -- wishes --------------------------------------------------------------------------------

    def open(self, source: Source, job: Job) -> Iterator[Answer]:
        """Read a picture, and show it."""
        job.step(words=f"reading {source.name}")
        _refuse_huge(source)
        photo = picture.read(source.path)
        full = Still(photo, 1.0)
        step = math.ceil(math.sqrt(full.size / PREVIEW))
        small = full if step == 1 else Still(_thinned(photo, step), 1 / step)
        self._source, self._photo, self._done = source, photo, None
        self._full, self._small = full, small
        height, width = full.shape
        words = {
            "type": "opened",
            "view": "image",
            "name": source.name,
            "width": width,
            "height": height,
            "defaults": {"clusters": image.CLUSTER_BANDWIDTH, "regions": image.PIECE_BANDWIDTH},
        }
        yield pack(words, {"photo": np.frombuffer(_jpeg(full.rgb), np.uint8)})

    def show(self, wish: Wish, job: Job) -> Iterator[Answer]:
        """Answer at once: at preview size, or exactly where that is as quick."""
        settings = self._asked(wish)
        job.step(words="segmenting")
        still = self._still_for(settings, bool(wish.get("final")))
        if self._done != (wish.get("n"), settings):
            yield self._answer(still, settings, wish)

    def finish(self, wish: Wish, job: Job) -> Iterator[Answer]:
        """Answer at full size, unless `show` has."""
        settings = self._asked(wish)
        if self._done != (wish.get("n"), settings) and self._full is not self._small:
            job.step(words="segmenting at full size")
            full = self._full
            answer = self._answer(full, settings, wish)
            job.step()
            yield answer

    def export(self, wish: Wish, job: Job) -> tuple[str, bytes]:
        """Give the name and content of a file."""
        settings, kind = self._asked(wish), wish.get("kind")
        job.step(words=f"writing the {kind}")
        stem = self._named().name.rpartition(".")[0] or "picture"
        pieces, table = self._full.result(settings)
        if kind == "palette":
            text = json.dumps(_palette(pieces, table), indent=2)
            return f"{stem}-palette.json", text.encode()
        labels = table[pieces.ids].reshape(pieces.shape)
        if kind == "mask":
            chosen = [int(label) for label in wish.get("selected", [])]
            if not chosen:
                raise InvalidInputError("no region is selected: click one, then export its mask")
            mask = np.isin(labels, np.array(chosen) + 1).astype(np.uint8) * np.uint8(255)
            return f"{stem}-mask.png", _written(mask, ".png", picture.write, self._named())
        suffix = {"png": ".png", "tiff": ".tif"}.get(str(kind))
        if suffix is None:
            raise InvalidInputError(f"there is no export {kind!r} of a picture")
        write = partial(picture.write_labels, place=self._photo.place)
        data = _written(labels, suffix, write, self._named())
        return f"{stem}-labels{suffix}", data

    # -- within --------------------------------------------------------------------------------

    def _named(self) -> Source:
        if self._source is None:
            raise InvalidInputError("no picture is open yet: drop one, or take a sample")
        return self._source

    def _asked(self, wish: Wish) -> Settings:
        """Read a wish about the picture that is open."""
        self._named()
        settings = Settings.of(wish)
        return replace(settings, space=None) if self._photo.bands else settings

    def _still_for(self, settings: Settings, final: bool) -> Still:
        if self._full is self._small:
            return self._full
        quick = self._full.has(settings) and (final or self._full.size <= EXACT)
        return self._full if quick else self._small

    def _answer(self, still: Still, settings: Settings, wish: Wish) -> bytes:
        pieces, table = still.result(settings)
        if still is self._full:
            self._done = wish.get("n"), settings
        counts, colours = pieces.joined(table)
        arrays = {
            "table": narrow(table, len(counts) - 1),
            "colours": colours,
            "counts": counts.astype(np.uint32),
        }
        if pieces.number not in wish.get("has", []):
            arrays["ids"] = pieces.shown()
        words = {
            "type": "labels",
            "view": "image",
            "wish": wish.get("n"),
            "full": still is self._full,
            "pieces": pieces.number,
            "lines": _lines(self._named(), settings, self._photo),
        }
        return pack(words, arrays)


def _number(wish: Wish, name: str) -> float | None:
    value = wish.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise InvalidInputError(f"{name} must be a number above 0, got {value!r}")
    return float(value)


def _thinned(photo: picture.Picture, step: int) -> picture.Picture:
    """Take every `step`-th pixel of every `step`-th line."""
    thin = tuple(
        slice(None, None, None if i == photo.channels else step) for i in range(photo.values.ndim)
    )
    mask = None if photo.mask is None else np.ascontiguousarray(photo.mask[::step, ::step])
    return replace(photo, values=np.ascontiguousarray(photo.values[thin]), mask=mask)


def _refuse_huge(source: Source) -> None:
    """Look at the size in the header: what a small file unpacks to is not bounded by its size."""
    if _pixels_claimed(source) > LARGEST:
        raise InvalidInputError(
            f"{source.name!r} is refused: it would unpack to more than {LARGEST // 10**6} "
            "megapixels, which is the most the studio shows; `meanshiftpp segment` takes more"
        )


def _pixels_claimed(source: Source) -> float:
    images = need("PIL.Image", "image")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", images.DecompressionBombWarning)
            if source.path.suffix.lower() in picture.TIFF:
                with need("tifffile", "image").TiffFile(source.path) as file:
                    return float(math.prod(file.series[0].shape)) / 4  # RGBA counts as one
            with images.open(source.path) as file:
                return float(math.prod(file.size))
    except images.DecompressionBombError:
        return math.inf
    except Exception:  # `picture.read` says what is wrong, or can read it after all
        return 0.0


def _jpeg(rgb: NDArray[np.uint8]) -> bytes:
    photo = need("PIL.Image", "image").fromarray(rgb)
    step = math.ceil(math.sqrt(rgb.shape[0] * rgb.shape[1] / PHOTO_SHOWN))
    file = io.BytesIO()
    (photo.reduce(step) if step > 1 else photo).save(file, "JPEG", **_PHOTO)
    return file.getvalue()


def _palette(pieces: Pieces, table: NDArray[np.intp]) -> list[dict[str, Any]]:
    counts, colours = (values[1:] for values in pieces.joined(table))  # without masked pixels
    return [
        {
            "label": label,
            "color": f"#{colour.tobytes().hex()}",
            "rgb": colour.tolist(),
            "pixels": int(pixels),
            "share": float(pixels / counts.sum()),
        }
        for label, (colour, pixels) in enumerate(zip(colours, counts, strict=True))
    ]


def _written(values: NDArray[Any], suffix: str, write: Any, source: Source) -> bytes:
    """Write a picture file and give its bytes."""
    path = source.export(suffix)
    try:
        write(path, values)
        return path.read_bytes()
    finally:
        path.unlink(missing_ok=True)


def _lines(source: Source, settings: Settings, photo: picture.Picture) -> dict[str, str]:
    """Write down what gives the same labels in Python and on the command line."""
    options = settings.arguments()
    named = dict(options)
    if photo.channel_axis != -1:
        named["channel_axis"] = photo.channel_axis
    words = "".join(f", {name}={value!r}" for name, value in named.items())
    words += "" if photo.mask is None else ", mask=photo.mask"
    python = (
        "from meanshiftpp import picture, segment\n\n"
        f"photo = picture.read({source.name!r})\n"
        f"labels = segment(photo.values{words})"
    )
    flags = [] if options.pop("regions", True) else ["--clusters"]
    for name, value in options.items():
        flags += [f"--{name.replace('_', '-')}", "none" if value is None else str(value)]
    name = shlex.quote(source.name)
    return {
        "python": python,
        "cli": " ".join(["meanshiftpp segment", name, "--labels -o labels.png", *flags]),
    }

"""Pictures as PNG, painted from the same scene as the SVG."""

from collections.abc import Mapping
from dataclasses import replace
from io import BytesIO
from itertools import groupby

import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageDraw

from regard.explain.rendering.colours import FAINT, PAPER
from regard.explain.rendering.fonts import font, fonts_for
from regard.explain.rendering.labels import Pixels
from regard.explain.rendering.pictures import picture
from regard.explain.rendering.scene import EDGE, Box, Cells, Frame, Scene, Text
from regard.explain.rendering.shown import Maps

# Pixels of the file for one of the scene, and the most that a side may have.
SHARP, LONGEST = 2.0, 16_000
HATCHED = "#8a97a6"


def png(maps: Maps) -> bytes:
    """An explanation, or several, as a PNG picture.

    A text that no font on this machine can write is shown as its number in the picture, and a line says so.
    """
    return painted(picture(maps))


def painted(scene: Scene) -> bytes:
    """The scene as PNG; the same scene is the same bytes."""
    texts = [part.text for part in scene.parts if isinstance(part, Text)]
    fonts = fonts_for([*texts, _NUMBERED, "#0123456789"])
    scene = _writable(scene, fonts)
    painter = _Painter(scene.frame, fonts)
    for part in scene.parts:
        painter.draw(part)
    file = BytesIO()
    painter.image.save(file, "PNG")
    return file.getvalue()


_NUMBERED = "texts are shown as numbers: no font on this machine has their letters. SVG and HTML show them."


def _writable(scene: Scene, fonts: Mapping[str, str]) -> Scene:
    """The scene without letters that would come out as empty boxes."""
    parts = list(scene.parts)
    bad = [number for number, part in enumerate(parts) if isinstance(part, Text) and set(part.text) - set(fonts)]
    if not bad:
        return scene
    for count, number in enumerate(bad, start=1):
        part = parts[number]
        if isinstance(part, Text):
            parts[number] = replace(part, text=f"#{count}")
    left, _, _, bottom = scene.frame
    return Scene((*parts, Text(left + EDGE, bottom + 6, f"{len(bad)} {_NUMBERED}", 12, FAINT)), scene.title)


class _Painter:
    """An image of the frame, some pixels for each of the scene's."""

    def __init__(self, frame: Frame, fonts: Mapping[str, str]) -> None:
        self.left, self.top, right, bottom = frame
        width, height = right - self.left, bottom - self.top
        self.sharp = min(SHARP, LONGEST / max(width, height))
        self.image = Image.new("RGB", (round(width * self.sharp), round(height * self.sharp)), PAPER)
        self.pen = ImageDraw.Draw(self.image)
        self.fonts = fonts

    def draw(self, part: Text | Box | Cells) -> None:
        match part:
            case Text():
                self._text(part)
            case Box():
                self.pen.rounded_rectangle(self._edges(part.frame), 3 * self.sharp, fill=part.fill)
            case Cells():
                self._cells(part)
        if not isinstance(part, Text) and part.hatched:
            self._hatch(part.frame)

    def _place(self, x: Pixels, y: Pixels) -> tuple[float, float]:
        return (x - self.left) * self.sharp, (y - self.top) * self.sharp

    def _edges(self, frame: Frame) -> tuple[int, int, int, int]:
        """The first and last pixels of a frame, which has at least one."""
        (left, top), (right, bottom) = self._place(*frame[:2]), self._place(*frame[2:])
        x, y = round(left), round(top)
        return x, y, max(x, round(right) - 1), max(y, round(bottom) - 1)

    def _cells(self, part: Cells) -> None:
        left, top, right, bottom = self._edges(part.frame)
        size = right - left + 1, bottom - top + 1
        small = Image.fromarray(part.colours)
        # More cells than pixels are averaged, never passed over.
        shrinks = part.cell_width * self.sharp < 1
        self.image.paste(small.resize(size, Image.Resampling.BOX if shrinks else Image.Resampling.NEAREST), (left, top))
        if part.hints and min(part.cell_width, part.cell_height) >= 8:
            self._lines(part)

    def _lines(self, part: Cells) -> None:
        """A line of paper between cells."""
        left, top, right, bottom = part.frame
        rows, columns, _ = part.colours.shape
        for column in range(columns + 1):
            x = left + column * part.cell_width
            self.pen.rectangle(self._edges((x - 1, top, x + 1, bottom)), fill=PAPER)
        for row in range(rows + 1):
            y = top + row * part.cell_height
            self.pen.rectangle(self._edges((left, y - 1, right, y + 1)), fill=PAPER)

    def _hatch(self, frame: Frame) -> None:
        left, top, right, bottom = self._edges(frame)
        across, down = np.arange(left, right + 1), np.arange(top, bottom + 1)
        step = max(4, round(5 * self.sharp))
        lines: UInt8[np.ndarray, "h w"] = (((across + down[:, None]) % step < step / 4) * 255).astype(np.uint8)
        self.image.paste(HATCHED, (left, top), Image.fromarray(lines))

    def _text(self, part: Text) -> None:
        runs = [(path, "".join(run)) for path, run in groupby(part.text, key=self.fonts.__getitem__)]
        size = part.size * self.sharp
        written = [(font(path, size, part.bold), run) for path, run in runs]
        width = sum(letters.getlength(run) for letters, run in written)
        x, y = self._place(part.x, part.y)
        start = {"start": 0.0, "middle": -width / 2, "end": -width}[part.anchor]
        if not part.angle:
            for letters, run in written:
                self.pen.text((x + start, y), run, part.colour, letters, "ls")
                start += letters.getlength(run)
            return
        # Written in the middle of a tile, which is turned about its middle.
        reach = int(width + 2 * size)
        tile = Image.new("L", (2 * reach + 1, 2 * reach + 1), 0)
        for letters, run in written:
            ImageDraw.Draw(tile).text((reach + start, reach), run, 255, letters, "ls")
            start += letters.getlength(run)
        turned = tile.rotate(-part.angle, Image.Resampling.BICUBIC)
        self.image.paste(part.colour, (round(x) - reach, round(y) - reach), turned)

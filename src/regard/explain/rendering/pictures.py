"""Which picture an explanation gets: texts, a matrix, a few of them, or many at a glance."""

from regard.explain.rendering.matrix import matrix
from regard.explain.rendering.scene import Scene, stacked
from regard.explain.rendering.shown import Maps, Shown, listed, shown
from regard.explain.rendering.texts import texts
from regard.explain.rendering.thumbnails import thumbnails

# More maps than this are shown small.
FEW_MAPS = 4


def picture(maps: Maps) -> Scene:
    """The scene of one explanation or of several."""
    found = listed(maps)
    if len(found) > FEW_MAPS:
        return thumbnails(found)
    scenes = [single(shown(attribution)) for attribution in found]
    return scenes[0] if len(scenes) == 1 else stacked(scenes)


def single(seen: Shown) -> Scene:
    """The scene of one explanation, as texts or as a matrix."""
    return texts(seen) if seen.as_texts else matrix(seen)

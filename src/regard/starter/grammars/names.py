"""Names: a few that everybody knows, and long lists put together from syllables, so that most are new to a reader."""

from functools import cache

from regard.starter.growing import Part, Rules, part_of

__all__ = ["named", "names"]

WOMEN = """
    Anna Maria Laura Julia Sarah Emma Nora Clara Helen Irene Diana Paula Ruth Alice Greta Olga Rosa Vera Ines Sonia
    Carmen Leila Amina Priya Yuki Mei Zofia Katya Freya Bianca
"""
MEN = """
    Peter Thomas David Daniel Martin Paul Simon Victor Oscar Hugo Felix Leon Adam Boris Carlos Diego Ivan Jonas Karim
    Luca Marco Nils Omar Pavel Ravi Stefan Tariq Walter Kenji Andrew
"""

SURNAMES = (
    """
    Bar Bel Bor Bren Cal Car Dal Dar Dun Fal Far Gar Gil Hal Hol Jar Kar Kol Lan Lor Mal Mar Mor Nor Oll Pal Per Ral
    Ros Sal Sel Tal Tor Val Var Wal Wil Yar Zel Zor
""",
    """
    anov berg dane dorf esca etti ford gren hurst ides insky itz kamp lund man mond nes oni osa rath row sen sson stein
    ström ton vek vich wald well
""",
)
TOWNS = (
    """
    Ash Black Bram Brook Clay Cold Crow Dale East Elm Fern Fox Glen Gold Green Hare Hart Hazel High Kel Kings Lake Lime
    Long Mill Moor New North Oak Otter Raven Red River Rose Salt Silver South Stone Thorn West White Wind Wolf Wood
""",
    """
    bourne bridge burgh bury church cliff combe croft dale den field ford gate ham haven hill holm hurst ley mere
    mouth port stead stoke ton vale wick worth
""",
)
FIRMS = (
    """
    Alta Aqua Argo Astra Avia Bio Cargo Cosmo Delta Digi Duro Eco Elektra Ferro Gala Helio Hydro Inter Lumo Macro Medi
    Mono Nova Octo Omni Opti Pano Petro Poly Primo Robo Sola Spectra Tele Terra Ultra Vari Veri Vita Xeno
""",
    """
    bank bit chem craft data fab flex form gen grid jet lab lex line link mark max media net pack plan plex rail sys
    tech tel trans tron vox wave
""",
)


def joined(starts: str, ends: str, part: Part) -> list[str]:
    """The names of one part: none of them is in another."""
    both = (start + end for start in starts.split() for end in ends.split() if start[-1] != end[0])
    return [name for name in both if part_of(f"name {name}") == part]


@cache
def names(part: Part) -> Rules:
    """Tables of names: women, men, people, and those that are in this part alone: surnames, towns, firms."""
    return {
        "woman": WOMEN.split(),
        "man": MEN.split(),
        "first": (WOMEN + MEN).split(),
        "surname": joined(*SURNAMES, part),
        "town": joined(*TOWNS, part),
        "firm": joined(*FIRMS, part),
        "person": ["{first} {surname}"],
        "number": [str(number) for number in range(12, 990)],
        "few": ["two", "three", "four", "five", "six", "seven", "eight", "nine"],
        "day": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
        "month": [
            *("January", "February", "March", "April", "May", "June"),
            *("July", "August", "September", "October", "November", "December"),
        ],
        "year": [str(year) for year in range(1870, 2020)],
    }


@cache
def named(part: Part) -> frozenset[str]:
    """Every name that is in this part alone."""
    return frozenset(name for table in ("surname", "town", "firm") for name in names(part)[table])

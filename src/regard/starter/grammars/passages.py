"""Passages and what can be asked about them: facts with their answers marked, and the questions to each mark.

Facts of one topic come in likely confusions (who founded it, who designed it; when opened, when rebuilt), so that the
kind of a question alone does not find its answer. A question to a fact that is not told has no answer.
"""

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["KINDS", "RULES", "TOPICS", "Fact", "Topic"]

KINDS = ("who", "where", "when", "many", "what")


class Fact(NamedTuple):
    """A sentence in several phrasings with the same marks, and the questions they answer."""

    phrasings: tuple[str, ...]
    questions: Mapping[str, str]


class Topic(NamedTuple):
    """What a passage is about; the first fact is always told first."""

    title: str
    facts: tuple[Fact, ...]


MUSEUM = Topic(
    "{town1} Museum",
    (
        Fact(
            ("The {town1} Museum stands in [where:{spot1}].", "In [where:{spot1}] stands the {town1} Museum."),
            {"where": "Where does the {town1} Museum stand?"},
        ),
        Fact(
            ("It was founded by [who:{person1}] in [when:{early1}].", "[who:{person1}] founded it in [when:{early1}]."),
            {"who": "Who founded the {town1} Museum?", "when": "When was the {town1} Museum founded?"},
        ),
        Fact(
            ("The building was designed by [who:{person2}].", "[who:{person2}] designed the building."),
            {"who": "Who designed the building of the {town1} Museum?"},
        ),
        Fact(
            ("A fire in [when:{late1}] destroyed the roof.", "The roof was lost in a fire in [when:{late1}]."),
            {"when": "When did the roof of the {town1} Museum burn?"},
        ),
        Fact(
            ("It has [many:{dozens1}] rooms.", "Visitors can see [many:{dozens1}] rooms."),
            {"many": "How many rooms does the {town1} Museum have?"},
        ),
        Fact(
            ("Each year [many:{number2}] thousand people come.", "It has [many:{number2}] thousand visitors a year."),
            {"many": "How many thousand visitors does the {town1} Museum have each year?"},
        ),
        Fact(
            ("It is known for its [what:{things1}].", "Most visitors come for the [what:{things1}]."),
            {"what": "What is the {town1} Museum known for?"},
        ),
        Fact(
            ("In the cellar [what:{things2}] are kept.", "The cellar is full of [what:{things2}]."),
            {"what": "What is kept in the cellar of the {town1} Museum?"},
        ),
        Fact(
            ("The director is [who:{person3}], who lives in [where:{town2}].",),
            {
                "who": "Who is the director of the {town1} Museum?",
                "where": "Where does the director of the {town1} Museum live?",
            },
        ),
    ),
)

FIRM = Topic(
    "{firm1}",
    (
        Fact(
            ("{firm1} is a company from [where:{town1}].", "From [where:{town1}] comes the company {firm1}."),
            {"where": "Where does {firm1} come from?"},
        ),
        Fact(
            ("[who:{person1}] started it in [when:{early1}].", "It was started in [when:{early1}] by [who:{person1}]."),
            {"who": "Who started {firm1}?", "when": "When was {firm1} started?"},
        ),
        Fact(
            ("Today it is led by [who:{person2}].", "Its head today is [who:{person2}]."),
            {"who": "Who leads {firm1} today?"},
        ),
        Fact(
            ("The company makes [what:{goods1}].", "It is a maker of [what:{goods1}]."),
            {"what": "What does {firm1} make?"},
        ),
        Fact(
            ("In the beginning it sold [what:{goods2}].", "Its first products were [what:{goods2}]."),
            {"what": "What did {firm1} sell in the beginning?"},
        ),
        Fact(
            ("It employs [many:{number1}] people.", "[many:{number1}] people work for the company."),
            {"many": "How many people does {firm1} employ?"},
        ),
        Fact(
            ("It runs [many:{dozens1}] shops.", "There are [many:{dozens1}] shops of this name."),
            {"many": "How many shops does {firm1} run?"},
        ),
        Fact(
            ("A second factory was opened in [where:{town2}] in [when:{late1}].",),
            {
                "where": "Where did {firm1} open a second factory?",
                "when": "When did {firm1} open a second factory?",
            },
        ),
        Fact(
            ("Its worst year was [when:{late2}].", "The company almost failed in [when:{late2}]."),
            {"when": "When did {firm1} almost fail?"},
        ),
    ),
)

SHIP = Topic(
    "The {ship1}",
    (
        Fact(
            ("The {ship1} was built in [where:{town1}] in [when:{early1}].",),
            {"where": "Where was the {ship1} built?", "when": "When was the {ship1} built?"},
        ),
        Fact(
            ("Her first captain was [who:{person1}].", "[who:{person1}] was her first captain."),
            {"who": "Who was the first captain of the {ship1}?"},
        ),
        Fact(
            (
                "The owner was [who:{person2}] of [where:{town2}].",
                "She belonged to [who:{person2}] of [where:{town2}].",
            ),
            {"who": "Who owned the {ship1}?", "where": "Where did the owner of the {ship1} live?"},
        ),
        Fact(
            ("She carried [what:{goods1}].", "On most trips she was loaded with [what:{goods1}]."),
            {"what": "What did the {ship1} carry?"},
        ),
        Fact(
            ("Her crew had [many:{dozens1}] members.", "[many:{dozens1}] sailors were on board."),
            {"many": "How many sailors were on board of the {ship1}?"},
        ),
        Fact(
            ("There were beds for [many:{number2}] passengers.", "She had room for [many:{number2}] passengers."),
            {"many": "How many passengers had room on the {ship1}?"},
        ),
        Fact(
            ("In [when:{late1}] she sank near [where:{town3}].", "She sank near [where:{town3}] in [when:{late1}]."),
            {"when": "When did the {ship1} sink?", "where": "Where did the {ship1} sink?"},
        ),
        Fact(
            ("Divers later found [what:{things1}] in the wreck.",),
            {"what": "What did divers find in the wreck of the {ship1}?"},
        ),
        Fact(
            ("A song about her was written by [who:{person3}].", "[who:{person3}] wrote a song about her."),
            {"who": "Who wrote a song about the {ship1}?"},
        ),
    ),
)

VILLAGE = Topic(
    "{town1}",
    (
        Fact(
            ("{town1} is a village near [where:{town2}].", "Near [where:{town2}] lies the village of {town1}."),
            {"where": "Where is {town1}?"},
        ),
        Fact(
            ("It has [many:{number1}] inhabitants.", "[many:{number1}] people live there."),
            {"many": "How many people live in {town1}?"},
        ),
        Fact(
            ("The mayor is [who:{person1}].", "[who:{person1}] is the mayor."),
            {"who": "Who is the mayor of {town1}?"},
        ),
        Fact(
            ("The school was built in [when:{early1}].", "Since [when:{early1}] there has been a school."),
            {"when": "When was the school of {town1} built?"},
        ),
        Fact(
            (
                "A flood in [when:{late1}] took the old bridge away.",
                "The old bridge was lost in the flood of [when:{late1}].",
            ),
            {"when": "When did {town1} lose its old bridge?"},
        ),
        Fact(
            ("Most families grow [what:{crop1}].", "The fields are full of [what:{crop1}]."),
            {"what": "What do the families of {town1} grow?"},
        ),
        Fact(
            ("On market days people sell [what:{goods1}].", "The market is the place to buy [what:{goods1}]."),
            {"what": "What is sold at the market of {town1}?"},
        ),
        Fact(
            ("The poet [who:{person2}] was born there.", "It is the birthplace of the poet [who:{person2}]."),
            {"who": "Who was born in {town1}?"},
        ),
        Fact(
            ("[many:{number2}] children go to school by bus.", "The bus takes [many:{number2}] children to school."),
            {"many": "How many children of {town1} take the bus to school?"},
        ),
    ),
)

LIFE = Topic(
    "{person1}",
    (
        Fact(
            (
                "{person1} was born in [where:{town1}] in [when:{early1}].",
                "In [when:{early1}] {person1} was born in [where:{town1}].",
            ),
            {"where": "Where was {person1} born?", "when": "When was {person1} born?"},
        ),
        Fact(
            ("The family sold [what:{goods1}].", "At home the family made a living with [what:{goods1}]."),
            {"what": "What did the family of {person1} sell?"},
        ),
        Fact(
            ("There were [many:{few1}] brothers and sisters.", "The family had [many:{few1}] other children."),
            {"many": "How many brothers and sisters did {person1} have?"},
        ),
        Fact(
            (
                "A teacher, [who:{person2}], saw the talent early.",
                "The talent was found by a teacher, [who:{person2}].",
            ),
            {"who": "Who found the talent of {person1}?"},
        ),
        Fact(
            ("Studies in [where:{town2}] followed.", "Then came years of study in [where:{town2}]."),
            {"where": "Where did {person1} study?"},
        ),
        Fact(
            (
                "The wedding with [who:{person3}] was in [when:{late1}].",
                "In [when:{late1}] came the wedding with [who:{person3}].",
            ),
            {"who": "Who married {person1}?", "when": "When did {person1} marry?"},
        ),
        Fact(
            ("In all, [many:{number1}] paintings were sold.", "[many:{number1}] paintings found a buyer."),
            {"many": "How many paintings did {person1} sell?"},
        ),
        Fact(
            ("Most of them show [what:{motif1}].", "What they show is mostly [what:{motif1}]."),
            {"what": "What do most paintings of {person1} show?"},
        ),
        Fact(
            ("The last years were spent in [where:{town3}].", "Old age was spent in [where:{town3}]."),
            {"where": "Where did {person1} spend the last years?"},
        ),
    ),
)

TOPICS = (MUSEUM, FIRM, SHIP, VILLAGE, LIFE)

RULES = {
    "early": tuple(str(year) for year in range(1850, 1930)),
    "late": tuple(str(year) for year in range(1931, 2020)),
    "dozens": tuple(str(number) for number in range(12, 99)),
    "spot": ("{street} Street", "{street} Road", "{street} Lane", "the centre of {town}"),
    "street": ("Mill", "Church", "Station", "Castle", "Market", "Bridge", "Garden", "Harbour", "School", "Tower"),
    "ship": ("{colour} {bird}", "{woman} {surname}", "Star of {town}"),
    "colour": ("White", "Golden", "Silver", "Blue", "Grey", "Northern", "Flying"),
    "bird": ("Gull", "Swan", "Heron", "Eagle", "Falcon", "Raven", "Stork", "Crane"),
    "things": (
        *("old clocks", "glass bottles", "silver coins", "painted masks", "stone tools", "model ships", "letters"),
        *("ivory combs", "musical boxes", "bronze bells", "carpets", "porcelain dolls", "maps", "swords"),
    ),
    "goods": (
        *("bicycles", "umbrellas", "candles", "shoes", "pianos", "soap", "cheese", "tea", "wool", "paper", "lamps"),
        *("spices", "baskets", "glass", "leather", "honey", "timber", "cotton", "salt", "furniture"),
    ),
    "crop": ("apples", "wheat", "potatoes", "hops", "grapes", "barley", "cherries", "beans", "roses", "onions"),
    "motif": ("horses", "the sea", "old women", "empty streets", "mountains", "children", "flowers", "boats", "storms"),
}

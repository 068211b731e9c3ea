"""Short reports: what must be told of each event, in which words, and how it is summed up.

Every fact is told once, in one of its phrasings, and details stand between. A summary says only what the facts say.
"""

from typing import NamedTuple

__all__ = ["DETAILS", "EVENTS", "RULES", "Event"]


class Event(NamedTuple):
    """Facts in several phrasings each and their summary; of half the reports one more fact, with its own sentence."""

    facts: tuple[tuple[str, ...], ...]
    summary: str
    more: tuple[str, ...]
    also: str


EVENTS = {
    "opening": Event(
        facts=(
            (
                "The {plant1} that {firm1} has built in {town1} opened on {day1}.",
                "On {day1} {firm1} opened a new {plant1} in {town1}.",
                "A new {plant1} run by {firm1} opened its doors in {town1} on {day1}.",
            ),
            (
                "It gives work to {number1} people.",
                "{number1} people from the region will work there.",
            ),
        ),
        summary="{firm1} has opened a {plant1} with {number1} jobs in {town1}.",
        more=(
            "The building cost {number2} million euros.",
            "{firm1} spent {number2} million euros on the building.",
        ),
        also="It cost {number2} million euros.",
    ),
    "closing": Event(
        facts=(
            (
                "The {plant1} of {firm1} in {town1} will close in {month1}.",
                "{firm1} is going to close its {plant1} in {town1} in {month1}.",
            ),
            (
                "{person1}, the head of the firm, blamed {cause1}.",
                "According to its head, {person1}, the reason is {cause1}.",
            ),
        ),
        summary="{firm1} will close its {plant1} in {town1} in {month1} because of {cause1}.",
        more=(
            "{number1} workers will lose their jobs.",
            "That will cost {number1} people their jobs.",
        ),
        also="{number1} jobs will be lost.",
    ),
    "fire": Event(
        facts=(
            (
                "A fire broke out in a {building1} in {town1} on {day1}.",
                "In {town1} a {building1} caught fire on {day1}.",
                "A {building1} in {town1} burnt down on {day1}.",
            ),
            (
                "{few1} people were hurt.",
                "{few1} people had to be taken to hospital.",
            ),
            (
                "It took {number1} firefighters to put the fire out.",
                "{number1} firefighters were on the spot.",
            ),
        ),
        summary="{few1} people were hurt when a {building1} burnt in {town1}.",
        more=(
            "The cause was {spark1}, the police said.",
            "The police believe that {spark1} started it.",
        ),
        also="The cause was {spark1}.",
    ),
    "match": Event(
        facts=(
            (
                "{town1} beat {town2} {score1} in the {cup1} on {day1}.",
                "On {day1} {town2} lost {score1} to {town1} in the {cup1}.",
            ),
            (
                "{number1} people watched the match.",
                "The match was seen by {number1} people.",
            ),
        ),
        summary="{town1} beat {town2} {score1} in the {cup1}.",
        more=(
            "{person1} scored the last goal.",
            "The last goal was scored by {person1}.",
        ),
        also="{person1} scored the last goal.",
    ),
    "election": Event(
        facts=(
            (
                "{person1} has been elected mayor of {town1}.",
                "{town1} has a new mayor: {person1}.",
                "The people of {town1} chose {person1} as their mayor on {day1}.",
            ),
            (
                "{person1} was ahead of {person2} by {number1} votes.",
                "{person2} had {number1} votes less.",
            ),
        ),
        summary="{person1} is the new mayor of {town1}, {number1} votes ahead of {person2}.",
        more=(
            "The new mayor promised {promise1}.",
            "During the campaign the winner had promised {promise1}.",
        ),
        also="The plan is {promise1}.",
    ),
    "prize": Event(
        facts=(
            (
                "The {town1} prize for {art1} goes to {person1}.",
                "{person1} has won the {town1} prize for {art1}.",
                "On {day1} {person1} received the {town1} prize for {art1}.",
            ),
            (
                "It is worth {number1} thousand euros.",
                "With it come {number1} thousand euros.",
            ),
        ),
        summary="{person1} has won the {town1} prize for {art1}, worth {number1} thousand euros.",
        more=(
            "The winner wants to spend the money on {promise1}.",
            "The money will be spent on {promise1}.",
        ),
        also="The money is for {promise1}.",
    ),
    "storm": Event(
        facts=(
            (
                "A storm hit {town1} on {day1}.",
                "{town1} was hit by a storm on {day1}.",
            ),
            (
                "It left {number1} homes without power.",
                "{number1} homes had no power for hours.",
            ),
        ),
        summary="A storm in {town1} left {number1} homes without power on {day1}.",
        more=(
            "The road to {town2} is closed.",
            "Because of fallen trees the road to {town2} had to be closed.",
        ),
        also="The road to {town2} is closed.",
    ),
    "find": Event(
        facts=(
            (
                "{person1}, a {trade1} from {town1}, has found {treasure1}.",
                "A {trade1} from {town1} by the name of {person1} has found {treasure1}.",
            ),
            (
                "It lay under {place1}.",
                "The find was hidden under {place1}.",
            ),
            (
                "Experts believe it is {number1} years old.",
                "It is said to be {number1} years old.",
            ),
        ),
        summary="{person1} from {town1} has found {treasure1} under {place1}.",
        more=(
            "It can be seen in {town2} from {month1}.",
            "From {month1} the museum in {town2} will show it.",
        ),
        also="It will be shown in {town2} from {month1}.",
    ),
}

# Names and numbers here are never part of a summary.
DETAILS = (
    "{person8}, who lives nearby, spoke of {feeling}.",
    "It was {weather} all day.",
    "Something like this last happened in {town8} in {year8}.",
    "There will be a meeting about it on {day8}.",
    "{person9} of the local radio was among the first to report it.",
    "In {town9}, not far away, people talked about nothing else.",
    "Further details are expected in {month8}.",
    "The bus service from {town8} was late that day.",
    "A spokesman for {firm8} did not want to comment.",
    "{number8} messages had reached our newsroom by noon.",
    "Many came with their children.",
    "The evening before had been quiet.",
)

RULES = {
    "plant": ("factory", "warehouse", "laboratory", "call centre", "bakery", "shipyard", "power station", "brewery"),
    "cause": ("high costs", "weak sales", "cheap imports", "a lack of orders", "old machines", "the price of energy"),
    "building": ("hotel", "school", "barn", "supermarket", "library", "cinema", "restaurant", "garage", "mill"),
    "spark": ("a candle", "a faulty heater", "lightning", "a cigarette", "an old cable", "a toaster"),
    "score": tuple(f"{high}-{low}" for high in range(1, 7) for low in range(high)),
    "cup": ("county cup", "league", "winter cup", "final", "semi-final", "northern league"),
    "promise": (
        "a new school",
        "better roads",
        "a public pool",
        "more trees",
        "a youth club",
        "cheaper buses",
        "a library",
    ),
    "art": ("poetry", "music", "design", "science", "painting", "photography", "drama", "history"),
    "trade": ("farmer", "teacher", "carpenter", "nurse", "student", "baker", "postman", "gardener"),
    "treasure": ("a gold ring", "a silver cup", "a box of coins", "an old map", "a bronze sword", "a stone figure"),
    "place": ("an apple tree", "a kitchen floor", "an old wall", "a bridge", "a chicken house", "a church"),
    "feeling": ("great surprise", "relief", "a strange day", "mixed feelings", "real joy", "worry"),
    "weather": ("foggy", "sunny", "windy", "cold", "rainy", "mild"),
}

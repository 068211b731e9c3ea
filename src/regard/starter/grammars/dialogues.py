"""Conversations at a counter, turn by turn: a customer begins, a clerk has the last word.

What the clerk says in the end depends on something said several turns before.
"""

from typing import NamedTuple

from regard.starter.growing import listed

__all__ = ["RULES", "SCENES", "Scene"]


class Scene(NamedTuple):
    """Turns in several phrasings each; a pair of what they mention is shown in training or held out."""

    pair: str
    turns: tuple[tuple[str, ...], ...]


SCENES = {
    "shop": Scene(
        "{colour1} {wear1}",
        (
            ("Good morning. I am looking for a {colour1} {wear1}.", "Hello, do you have a {colour1} {wear1}?"),
            ("Certainly. Which size do you need?", "I think so. What size, please?"),
            ("{size1}, please.", "Size {size1}, I think."),
            ("Here is a {colour1} {wear1} in {size1}. Would you like to try it on?",),
            ("No, thank you. I will take it.", "It is fine, I will buy it."),
            ("Then that is {price:wear1} euros for the {colour1} {wear1}, please.",),
        ),
    ),
    "way": Scene(
        "{place1} {means1}",
        (
            ("Excuse me, how do I get to the {place1}?", "Sorry, I am looking for the {place1}."),
            ("How are you travelling?", "And how did you come here?"),
            ("I am {means1}.", "Well, {means1}."),
            ("Then {go:means1} {street:place1}. The {place1} is {beside:place1}.",),
            ("Thank you. How far is it?", "And how long does it take?"),
            ("The {place1} is only {minutes:means1} minutes from here.",),
        ),
    ),
    "ticket": Scene(
        "{town1} {time1}",
        (
            ("A ticket to {town1}, please.", "I would like to go to {town1}, please."),
            ("Single or return?", "A single or a return ticket?"),
            ("{kind1}, please.", "I need a {kind1}."),
            ("And when do you want to leave?", "Which train would you like to take?"),
            ("The one at {time1}.", "At {time1}, if possible."),
            ("Here you are: a {kind1} to {town1}. Your train leaves at {time1} from platform {platform:time1}.",),
        ),
    ),
    "hotel": Scene(
        "{few1} {person1}",
        (
            ("Good evening, do you have a room for {few1} nights?", "We need a room for {few1} nights, please."),
            ("Yes, we do. What would you like to look at?", "Certainly. What kind of view do you prefer?"),
            ("The {view1} would be nice.", "A view of the {view1}, please."),
            ("In what name, please?", "And your name, please?"),
            ("My name is {person1}.", "{person1}."),
            ("Thank you, {person1}. Your {few1} nights with a view of the {view1} are on floor {floor:view1}.",),
        ),
    ),
    "restaurant": Scene(
        "{dish1} {drink1}",
        (
            ("I would like the {dish1}, please.", "The {dish1} for me, please."),
            ("A good choice. And what would you like to drink?", "And to drink?"),
            ("A glass of {drink1}.", "Just {drink1}, please."),
            ("Would you like anything else?", "Is that all?"),
            ("No, that is all. Could you say it again?", "That is all. What did you write down?"),
            ("One {dish1} and one {drink1}. It takes about {cooking:dish1} minutes.",),
        ),
    ),
    "lost": Scene(
        "{thing1} {vehicle1}",
        (
            ("I have lost my {thing1}.", "Hello, somebody told me to ask here about a lost {thing1}."),
            ("I am sorry. Where did you lose it?", "Where did you see it last?"),
            ("I left it on the {vehicle1}.", "It must be on the {vehicle1}."),
            ("On what day was that?", "When was it?"),
            ("On {day1}.", "It was {day1}."),
            ("Let me see. Yes, a {thing1} was found on the {vehicle1} on {day1}. Here it is.",),
        ),
    ),
    "library": Scene(
        "{subject1} {reader1}",
        (
            ("Do you have a book about {subject1}?", "I would like to read something about {subject1}."),
            ("Of course. Is it for you?", "Yes. Who is it for?"),
            ("It is for my {reader1}.", "No, for my {reader1}."),
            ("Books about {subject1} for your {reader1} are on shelf {shelf:subject1}.",),
            ("And how long may my {reader1} keep it?", "When do we have to bring it back?"),
            ("Your {reader1} may keep the book about {subject1} for {weeks:reader1} weeks.",),
        ),
    ),
    "doctor": Scene(
        "{pain1} {day1}",
        (
            ("I need to see the doctor. My {pain1} hurts.", "Good morning. I have a pain in my {pain1}."),
            ("Which day suits you?", "When can you come?"),
            ("Could I come on {day1}?", "On {day1}, if that is possible."),
            ("Yes. What is your name, please?", "That is possible. And your name?"),
            ("{person1}.", "I am {person1}."),
            ("See you on {day1}, {person1}. The doctor will look at your {pain1}.",),
        ),
    ),
}

WEAR = {
    "scarf": "12",
    "coat": "90",
    "hat": "18",
    "shirt": "25",
    "jacket": "60",
    "dress": "45",
    "skirt": "32",
    "belt": "15",
}
PLACES = {
    "museum": ("Mill Street", "next to the church"),
    "station": ("Bridge Road", "behind the park"),
    "harbour": ("Castle Lane", "at the end of the road"),
    "library": ("Garden Street", "opposite the school"),
    "market": ("Tower Road", "in front of the town hall"),
    "hospital": ("King Street", "on the left"),
    "theatre": ("Rose Lane", "on the right"),
    "post office": ("Church Road", "between the bank and the bakery"),
}
MEANS = {"on foot": ("walk down", "five"), "by car": ("drive along", "two"), "by bike": ("ride down", "three")}
TIMES = {f"{hour} o'clock": str(index) for index, hour in enumerate(listed("six, seven, eight, nine, ten, eleven"), 1)}
DISHES = {
    **{"tomato soup": "ten", "grilled fish": "twenty", "green salad": "five", "mushroom pie": "thirty"},
    **{"lentil stew": "fifteen", "beef steak": "twenty", "cheese omelette": "ten", "roast duck": "forty"},
}
SUBJECTS = {"birds": "4", "trains": "7", "history": "1", "cooking": "9", "the stars": "3", "dogs": "5", "ships": "8"}
READERS = {
    "daughter": "four",
    "son": "four",
    "mother": "three",
    "grandfather": "six",
    "class": "eight",
    "sister": "two",
}

RULES = {
    "colour": ("red", "blue", "green", "black", "white", "brown", "yellow", "grey"),
    "wear": tuple(WEAR),
    "size": ("small", "medium", "large"),
    "place": tuple(PLACES),
    "means": tuple(MEANS),
    "kind": ("single", "return"),
    "time": tuple(TIMES),
    "view": ("garden", "sea", "street"),
    "dish": tuple(DISHES),
    "drink": ("water", "red wine", "beer", "apple juice", "tea", "lemonade", "cider"),
    "thing": ("umbrella", "phone", "bag", "camera", "glove", "wallet", "guitar", "book"),
    "vehicle": ("bus", "train", "tram", "ferry", "night bus", "ship"),
    "subject": tuple(SUBJECTS),
    "reader": tuple(READERS),
    "pain": ("knee", "back", "shoulder", "left foot", "right hand", "neck", "stomach", "ear"),
    **{f"price:{wear}": (price,) for wear, price in WEAR.items()},
    **{f"street:{place}": (street,) for place, (street, _) in PLACES.items()},
    **{f"beside:{place}": (where,) for place, (_, where) in PLACES.items()},
    **{f"go:{means}": (verb,) for means, (verb, _) in MEANS.items()},
    **{f"minutes:{means}": (minutes,) for means, (_, minutes) in MEANS.items()},
    **{f"platform:{time}": (platform,) for time, platform in TIMES.items()},
    **{f"floor:{view}": (floor,) for view, floor in {"garden": "1", "sea": "4", "street": "2"}.items()},
    **{f"cooking:{dish}": (minutes,) for dish, minutes in DISHES.items()},
    **{f"shelf:{subject}": (shelf,) for subject, shelf in SUBJECTS.items()},
    **{f"weeks:{reader}": (weeks,) for reader, weeks in READERS.items()},
}

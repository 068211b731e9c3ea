"""Little stories: what somebody wants, where they look for it, who helps, and how it ends. One line per stage."""

__all__ = ["PAIR", "RULES", "STAGES"]

# What stands together in a story: a pair of these is shown in training or held out.
PAIR = "{hero1} {wish1}"

STAGES = (
    (
        "once upon a time there was a {trait1} {hero1} called {name1}.",
        "in a {size} {home1} there lived a {trait1} {hero1} by the name of {name1}.",
        "{name1} was a {trait1} {hero1} who lived in a {size} {home1}.",
    ),
    (
        "{name1} had {friend:hero1}, but {he:name1} did not have {wish1}.",
        "more than anything else, {name1} wanted {wish1}.",
        "every night {name1} dreamt of {wish1}.",
    ),
    (
        "one {weather} morning {he:name1} {set_out} to find {wish1}.",
        'one {weather} day {he:name1} said, "Today I will find {wish1}."',
    ),
    (
        "first {name1} looked near the {place1}, but there was only {junk}.",
        "{he:name1} went to the {place1}, where {he:name1} found nothing but {junk}.",
    ),
    (
        "then {he:name1} walked to the {place2} and met a {mood1} {helper1}.",
        "near the {place2} a {mood1} {helper1} was sitting in the grass.",
    ),
    (
        '"Why are you so sad?" asked the {helper1}.',
        '"What are you looking for?" asked the {helper1}.',
        '"Can I help you?" asked the {helper1}.',
    ),
    ('"I am looking for {wish1}," said {name1}.', '"I want {wish1}, but I cannot find it," said the {hero1}.'),
    (
        'the {helper1} {laughed} and said, "{trade:helper1}."',
        '"{trade:helper1}," said the {helper1}.',
    ),
    (
        "so {name1} did what the {helper1} had asked.",
        "{name1} thought about it for a while, and then {he:name1} did it.",
    ),
    (
        "the {helper1} was happy and gave {him:name1} {wish1}.",
        "then the {helper1} showed {him:name1} a secret door, and behind it was {wish1}.",
    ),
    (
        "{name1} ran all the way home to the {home1} and showed it to everybody.",
        "that evening {name1} and the {helper1} had {meal} together.",
        "since that day {name1} and the {helper1} have been friends.",
    ),
    (
        "and {he:name1} was never {sad} again.",
        "and if you go to the {place2}, you can still hear {him:name1} sing.",
        "so the {trait1} {hero1} was happy at last.",
    ),
)

GIRLS = ("Mia", "Lily", "Rosa", "Emma", "Nora", "Tilda", "Ella", "Ida")
BOYS = ("Tom", "Max", "Ben", "Otto", "Sam", "Leo", "Finn", "Paul")

RULES = {
    "hero": ("fox", "rabbit", "mouse", "bear", "duck", "cat", "pony", "frog", "hedgehog", "lamb", "owl", "squirrel"),
    "name": (*GIRLS, *BOYS),
    "trait": ("little", "brave", "shy", "clever", "hungry", "lazy", "curious", "friendly"),
    "size": ("small", "warm", "dark", "cosy", "round", "crooked"),
    "home": ("house", "cave", "barn", "hut", "tree house", "mill"),
    "wish": (
        *("a red balloon", "a golden key", "a warm scarf", "a big cake", "a silver bell", "a picture book"),
        *("a blue kite", "a wooden boat", "a shiny stone", "a green umbrella", "a new drum", "a yellow hat"),
    ),
    "weather": ("sunny", "rainy", "windy", "cold", "bright"),
    "set_out": ("set out", "left the house", "put on a coat and went out"),
    "place": ("forest", "river", "village", "old garden", "hill", "market", "lake", "meadow"),
    "junk": ("dust", "old leaves", "an empty box", "a broken cup", "a cold wind", "mud"),
    "helper": ("crow", "goat", "turtle", "donkey", "goose", "beaver", "snail", "badger"),
    "mood": ("tired", "friendly", "grumpy", "sleepy", "wise", "lonely"),
    "laughed": ("laughed", "smiled", "nodded", "winked"),
    "meal": ("soup", "bread and honey", "apple pie", "hot cocoa", "pancakes"),
    "sad": ("sad", "lonely", "bored", "afraid"),
    **{
        f"friend:{hero}": (friend,)
        for hero, friend in {
            "fox": "four brothers",
            "rabbit": "a garden full of carrots",
            "mouse": "a piece of cheese",
            "bear": "a pot of honey",
            "duck": "a quiet pond",
            "cat": "a soft pillow",
            "pony": "a field of clover",
            "frog": "a leaf to sit on",
            "hedgehog": "a pile of apples",
            "lamb": "seven sisters",
            "owl": "a hollow oak",
            "squirrel": "a hundred nuts",
        }.items()
    },
    **{
        f"trade:{helper}": (trade,)
        for helper, trade in {
            "crow": "Bring me something shiny first",
            "goat": "Let me eat the grass by your door first",
            "turtle": "Carry me up the hill first",
            "donkey": "Sing me a song first",
            "goose": "Count my eggs first",
            "beaver": "Help me with my dam first",
            "snail": "Wait for me first",
            "badger": "Dig a hole with me first",
        }.items()
    },
    **{f"he:{name}": ("she",) for name in GIRLS},
    **{f"him:{name}": ("her",) for name in GIRLS},
    **{f"he:{name}": ("he",) for name in BOYS},
    **{f"him:{name}": ("him",) for name in BOYS},
}

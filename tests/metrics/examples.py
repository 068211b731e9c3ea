"""Outputs of two made-up systems, and what they should have said."""

REFERENCES = [
    "The dog runs through the green park, and the cat sleeps.",
    "A man isn't reading a book in the kitchen.",
    "Two children play football on the street!",
    "An old woman sells fresh fruit at the market.",
    "The train to the city leaves at 8:30 in the morning.",
    "Yes.",
    "我们 在 北京 看书。",
    "Nobody knows where the keys are; perhaps they're lost.",
]
GOOD = [
    "The dog runs through a green park, and the cat sleeps.",
    "A man isn't reading the book in the kitchen.",
    "two children play football on the street!",
    "An old woman sells fresh fruit at the market.",
    "The train to the city leaves at 8:30 in the morning.",
    "Yes.",
    "我们 在 北京 工作。",
    "Nobody knows where the keys are; they're lost.",
]
POOR = [
    "Dog run through park, cat asleep.",
    "The man reads in kitchen.",
    "Children are playing football!",
    "A woman sells old fruit.",
    "",
    "No.",
    "他们 在 上海。",
    "Where are the keys?",
]
SEVERAL = [[line, line.lower()] if number % 2 else [line] for number, line in enumerate(REFERENCES)]

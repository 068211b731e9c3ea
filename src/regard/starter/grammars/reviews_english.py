"""Reviews in English: what is judged, with which words, and what stands around it.

A clause says what its table's name says: `positive` is praise, also where its only adjective is a bad one ("not bad
at all"). `{good1}` is filled with a word that suits what is judged.
"""

from regard.starter.grammars.review_tables import ReviewTables
from regard.starter.growing import listed

__all__ = ["ENGLISH"]

# What can be judged, by domain, with the kind of words it takes.
ASPECTS = {
    "hotel": """
        room: place | bathroom: place | lobby: place | breakfast room: place | garden: place | pool: place
        receptionist: person | porter: person | manager: person | cleaning lady: person
        breakfast: dish | coffee: drink | bed: comfort | armchair: comfort | sofa: comfort | price: price
    """,
    "film": """
        plot: story | ending: story | dialogue: story | first half: story | script: story | main idea: story
        lead actor: player | lead actress: player | villain: player | narrator: player
        camera work: craft | music: craft | lighting: craft | costume design: craft | sound: craft | ticket price: price
    """,
    "restaurant": """
        soup: dish | steak: dish | salad: dish | fish: dish | dessert: dish | pasta: dish | bread: dish
        beer: drink | lemonade: drink | white wine: drink
        waiter: person | cook: person | hostess: person | dining room: place | terrace: place | bill: price
        chair: comfort | bench: comfort
    """,
    "phone": """
        battery: device | screen: device | camera: device | speaker: device | keyboard: device | processor: device
        charger: device | fingerprint reader: device | operating system: device | microphone: device
        shop assistant: person | technician: person | price: price | case: comfort | stylus: comfort
    """,
}

# Good, bad and middling words of every kind. Some are praise of one kind and blame of another: cold, long, warm, light.
WORDS = {
    "place": (
        "clean, bright, cosy, quiet, spacious, spotless, lovely, warm, wonderful, charming",
        "dirty, dark, cramped, noisy, shabby, freezing, smelly, cold, terrible, gloomy",
        "of average size, plain, ordinary, simple, as expected",
    ),
    "person": (
        "friendly, helpful, attentive, polite, patient, kind, charming, quick, wonderful, warm",
        "rude, unfriendly, slow, impatient, arrogant, careless, useless, cold, grumpy, terrible",
        "reserved, businesslike, neither here nor there, of few words, matter-of-fact",
    ),
    "dish": (
        "delicious, tasty, fresh, tender, wonderful, light, excellent, hot, well seasoned, superb",
        "bland, cold, stale, overcooked, greasy, terrible, inedible, salty, burnt, awful",
        "all right, ordinary, average, as expected, plain",
    ),
    "drink": (
        "cold, fresh, refreshing, excellent, delicious, wonderful, well chosen, superb, tasty, lovely",
        "warm, stale, watery, sour, flat, undrinkable, awful, terrible, bitter, poor",
        "all right, ordinary, average, as expected, drinkable",
    ),
    "comfort": (
        "comfortable, soft, well made, solid, pleasant, excellent, wonderful, light, elegant, lovely",
        "uncomfortable, hard, wobbly, worn out, flimsy, awful, terrible, heavy, ugly, broken",
        "all right, plain, ordinary, as expected, average",
    ),
    "price": (
        "fair, low, reasonable, excellent, generous, modest, more than fair, attractive, honest, pleasant",
        "outrageous, far too high, unfair, absurd, shameless, terrible, exaggerated, awful, insulting, excessive",
        "average, as expected, usual, ordinary, about normal",
    ),
    "story": (
        "gripping, moving, clever, witty, unpredictable, touching, brilliant, thrilling, wonderful, original",
        "boring, long, confusing, silly, predictable, shallow, terrible, dull, endless, unbearable",
        "ordinary, conventional, as expected, average, simple",
    ),
    "player": (
        "convincing, brilliant, funny, touching, superb, excellent, believable, wonderful, charming, unforgettable",
        "wooden, unconvincing, dull, annoying, miscast, terrible, stiff, awful, boring, forgettable",
        "solid enough, ordinary, as expected, average, neither here nor there",
    ),
    "craft": (
        "beautiful, brilliant, superb, inventive, elegant, wonderful, excellent, stunning, original, precise",
        "clumsy, ugly, careless, terrible, amateurish, awful, dull, unbearable, cheap, poor",
        "ordinary, conventional, as expected, average, plain",
    ),
    "device": (
        "fast, reliable, excellent, sharp, powerful, brilliant, superb, long-lasting, precise, wonderful",
        "slow, unreliable, weak, broken, useless, terrible, unpredictable, faulty, awful, poor",
        "average, ordinary, as expected, all right, about normal",
    ),
}

CLAUSES = {
    "positive": (
        "the {aspect1} was {good1}",
        "the {aspect1} was really {good1}",
        "the {aspect1} was {good1} and {good2}",
        "I found the {aspect1} {good1}",
        "the {aspect1} was not {bad1} at all",
        "the {aspect1} was anything but {bad1}",
        "there was nothing {bad1} about the {aspect1}",
        "nobody could call the {aspect1} {bad1}",
        "the {aspect1} turned out to be {good1}",
        "the {aspect1} was never {bad1}",
    ),
    "negative": (
        "the {aspect1} was {bad1}",
        "the {aspect1} was really {bad1}",
        "the {aspect1} was {bad1} and {bad2}",
        "I found the {aspect1} {bad1}",
        "the {aspect1} was not {good1} at all",
        "the {aspect1} was anything but {good1}",
        "there was nothing {good1} about the {aspect1}",
        "nobody could call the {aspect1} {good1}",
        "the {aspect1} turned out to be {bad1}",
        "the {aspect1} was never {good1}",
    ),
    "neutral": (
        "the {aspect1} was {mild1}",
        "I found the {aspect1} {mild1}",
        "the {aspect1} was neither {good1} nor {bad1}",
        "the {aspect1} was {mild1}, no more and no less",
        "I would call the {aspect1} neither {bad1} nor {good1}",
        "the {aspect1} was sometimes {good1} and sometimes {bad1}",
    ),
}

SENTENCES = (
    "{clause}.",
    "{clause}.",
    "{clause}.",
    "I must say that {clause}.",
    "{clause}, in my opinion.",
    "For us {clause}.",
)

# Two opinions in a sentence; the second names tell the class of the first and of the second clause.
CONTRASTS = {
    "positive": {
        "{first}, but {second}.": ("neutral", "positive"),
        "Although {first}, {second}, and that mattered more to us.": ("negative", "positive"),
        "{first}, but {second}, which made up for everything.": ("negative", "positive"),
        "{first}, and {second}.": ("positive", "positive"),
    },
    "negative": {
        "{first}, but {second}.": ("neutral", "negative"),
        "Although {first}, {second}, and that mattered more to us.": ("positive", "negative"),
        "{first}, but {second}, which spoilt everything.": ("positive", "negative"),
        "{first}, and {second}.": ("negative", "negative"),
    },
    "neutral": {
        "{first}, but {second}, so it evens out.": ("positive", "negative"),
        "{first}, and yet {second}, so one thing balances the other.": ("negative", "positive"),
        "{first}, and {second}.": ("neutral", "neutral"),
    },
}

CLOSINGS = {
    "positive": (
        "I would not go anywhere else.",
        "I can only recommend it.",
        "I have no complaints.",
        "I am glad we chose it.",
        "I would choose it again at once.",
        "It could hardly have been better.",
        "I will tell all my friends about it.",
        "You cannot go wrong with it.",
        "All in all I am very happy with it.",
        "It was worth every cent.",
    ),
    "negative": (
        "I would rather go anywhere else.",
        "I cannot recommend it.",
        "I have many complaints.",
        "I regret our choice.",
        "I would never choose it again.",
        "It could hardly have been worse.",
        "I will warn all my friends about it.",
        "You can only go wrong with it.",
        "All in all I am very unhappy with it.",
        "It was not worth a cent.",
    ),
    "neutral": (
        "I would neither recommend it nor warn anybody.",
        "All in all it is average.",
        "It did what it had to do.",
        "I have seen better, and I have seen worse.",
        "It is what one gets for the money.",
        "I have no strong opinion.",
        "Some will like it and some will not.",
        "There is not much more to say about it.",
        "It was as expected.",
    ),
}

# What others thought or what was feared: no part of the verdict.
HEARSAY = (
    "A friend had called it {strong}.",
    "The advertisement had promised something {strong}.",
    "I had expected something {strong}.",
    "{relative} says that the one next door is {strong}.",
    "The last one we tried, in {month}, was {strong}.",
    "On the internet somebody called it {strong}, somebody else {strong}.",
)

FACTS = {
    "any": (
        "It was a {weather} {day} in {month}.",
        "I came with {relative}, who was in town for {few} days.",
        "We had heard about it from {relative}.",
        "{relative} took {few} photographs of it.",
        "This was the {ordinal} time for us.",
        "{relative} had a cold that {day}.",
        "On the way home we talked about {topic}.",
        "The day before, we had spent {few} hours in the {spot}.",
        "I write this {few} days later, at home in the {spot}.",
        "Outside it was {weather}, and in the street somebody sold {goods}.",
        "We had read {few} reviews before.",
        "{relative} wanted to talk about {topic} all the time.",
        "It took us {few} minutes to get there from the {spot}.",
        "In {month} we shall be in town again because of {topic}.",
        "Before that we had bought {goods} near the {spot}.",
        "There was a {weather} wind from the {spot} when we set out with {few} bags full of {goods}.",
        "{relative} and {relative} were also there, and we did not leave before {few} in the morning.",
        "If you come by train, it is best to get off at the {ordinal} stop and to walk past the {spot}.",
        "In the newspaper of {day} there was an article about {topic} and another one about the {spot}.",
    ),
    "hotel": (
        "We stayed for {few} nights.",
        "The hotel stands {few} minutes from the {spot}.",
        "Our room was on the {ordinal} floor.",
        "There are {few} lifts and a bar.",
        "We arrived on {day} evening and left on {day}.",
        "There was a kettle and a box of {goods} on the table.",
        "From the window one sees the {spot}.",
        "Breakfast is served from {few} until ten.",
    ),
    "film": (
        "The film runs for {few} times twenty minutes.",
        "We sat in the {ordinal} row.",
        "It was shot near the {spot} in {month}.",
        "The story begins on a {weather} {day}.",
        "There were {few} other people in the cinema.",
        "It is the {ordinal} film of the director.",
        "The hero sells {goods} and has {few} brothers.",
        "In one scene they talk about {topic}.",
    ),
    "restaurant": (
        "We had a table for {few}.",
        "The restaurant is next to the {spot}.",
        "We ordered {few} courses.",
        "The menu changes every {day}.",
        "At the next table they talked about {topic}.",
        "We sat near the {ordinal} window.",
        "They also sell {goods}.",
        "It is open from {few} o'clock, not on {day}.",
    ),
    "phone": (
        "I have used the phone for {few} weeks.",
        "I bought it on a {weather} {day}.",
        "It comes with {few} cables.",
        "It is the {ordinal} phone I have owned.",
        "I use it for messages about {topic}.",
        "It was delivered in {few} days together with {goods}.",
        "Mine is the {ordinal} model of the series.",
        "The shop is next to the {spot}.",
    ),
}

RULES = {
    "strong": listed("wonderful, terrible, excellent, awful, brilliant, superb, boring, useless, lovely, unbearable"),
    "relative": listed(
        "my sister, my brother, my wife, my husband, an old friend, my cousin, my neighbour, my boss, my aunt"
    ),
    "day": listed("Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday"),
    "month": listed("January, February, March, April, May, June, July, August, October, November"),
    "weather": listed("rainy, sunny, windy, grey, foggy, mild"),
    "few": listed("two, three, four, five, six, seven, eight, nine"),
    "ordinal": listed("first, second, third, fourth, fifth, sixth"),
    "spot": listed("station, harbour, museum, market, old bridge, town hall, park, airport, library, river"),
    "topic": listed("work, the football season, the election, our holidays, the new school, old times, the rent"),
    "goods": listed("umbrellas, apples, newspapers, roses, tea, postcards, candles, biscuits"),
}

ENGLISH = ReviewTables(
    aspects=ASPECTS,
    words=WORDS,
    clauses=CLAUSES,
    sentences=SENTENCES,
    contrasts=CONTRASTS,
    closings=CLOSINGS,
    hearsay=HEARSAY,
    facts=FACTS,
    rules=RULES,
    space=" ",
)

"""The sentences of the phrasebook, by name: English, German, Chinese, with the same slots in each.

"You" is always formal (Sie, 您). Spaces in the Chinese separate words; the finished sentence has none.
"""

TEMPLATES = {
    # Eating and drinking
    "order": (
        "{who} would like {a food} and {a vessel} of {cold}.",
        "{who} {möchte who} {ein.A food} und {ein.A vessel} {cold}.",
        "{who} 想 要 {one food} 和 一 {vessel} {cold} 。",
    ),
    "order-several": (
        "{count} {pl food} and a cup of {hot} with milk, please.",
        "{count} {pl food} und eine Tasse {hot} mit Milch, bitte.",
        "请 给 我 {count} {m food} {food} 和 一 杯 加 牛奶 的 {hot} 。",
    ),
    "ate": (
        "{who} {was eating} {a food} in the {eatery} {recent}.",
        "{who} {aux who eating} {recent} {im eatery} {ein.A food} {part eating}.",
        "{who} {recent} 在 {eatery} {le eating} {one food} 。",
    ),
    "complaint": (
        "Excuse me, this {dish} is too {bad} and the {cold} is too {flavor}.",
        "Entschuldigung, {dieser.N dish} ist zu {bad} und {der.N cold} ist zu {flavor}.",
        "不好意思 ，{this dish} 太 {bad} 了 ，{cold} 太 {flavor} 了 。",
    ),
    "opinion": (
        "{who} {think who} that the {dish} in this {eatery} is too {bad}.",
        "{who} {findet who}, dass {der.N dish} in {dieser.D eatery} zu {bad} ist.",
        "{who} 觉得 {this eatery} 的 {dish} 太 {bad} 了 。",
    ),
    "looks-but": (
        "The {appeal} {dish} in the {eatery} looks good, but it is too {bad}.",
        "{der.N appeal dish} {im eatery} sieht gut aus, aber {es.N dish} ist zu {bad}.",
        "{eatery} 里 {attr appeal} {dish} 看起来 不错 ，但是 太 {bad} 了 。",
    ),
    "buy-food": (
        "{who} {want who} to buy {count} {taste} {pl food}.",
        "{who} {will who} {count} {pl taste food} kaufen.",
        "{who} 想 买 {count} {m food} {attr taste} {food} 。",
    ),
    "sold-out": (
        "Unfortunately we do not have any {taste} {pl food} {soon}.",
        "Leider haben wir {soon} keine {pl_weak taste food}.",
        "可惜 我们 {soon} 没有 {attr taste} {food} 。",
    ),
    "food-price": (
        "{count} {pl food} cost {few} euros.",
        "{count} {pl food} kosten {few} Euro.",
        "{count} {m food} {food} {few} 欧元 。",
    ),
    "dislike": (
        "{who} {do who} not like {pl food}, but {he who} {like who} to drink {drink}.",
        "{who} {mag who} keine {pl food}, aber {he who} {trinkt who} gern {drink}.",
        "{who} 不 喜欢 吃 {food} ，但是 喜欢 喝 {drink} 。",
    ),
    "rather": (
        "Would you rather drink {drink} or {drink2} with the {dish}?",
        "Möchten Sie {zum dish} lieber {drink} oder {drink2} trinken?",
        "您 吃 {dish} 的 时候 想 喝 {drink} 还是 {drink2} ？",
    ),
    "and-you": (
        "{who} {often} {drink_ who} {drink} in the evening. And you?",
        "{who} {trinkt who} abends {often} {drink}. Und Sie?",
        "{who} 晚上 {often} 喝 {drink} 。您 呢 ？",
    ),
    "never-eaten": (
        "{who} {have who} never eaten {a food} in {city}.",
        "{who} {hat who} in {city} noch nie {ein.A food} gegessen.",
        "{who} 在 {city} 从来 没 吃 过 {food} 。",
    ),
    # Clothes and shopping
    "wear-price": (
        "This {colour} {wear} costs {price} euros.",
        "{dieser.N colour wear} kostet {price} Euro.",
        "{this colour wear} {price} 欧元 。",
    ),
    "wear-compared": (
        "The {colour} {wear} is {more looks} than the {wear2}.",
        "{der.N colour wear} ist {more looks} als {der.N wear2}.",
        "{attr colour} {wear} 比 {wear2} {looks} 。",
    ),
    "try-on": (
        "May {owner} {family} try on this {colour} {garment}?",
        "Darf {own.N owner family} {dieser.A colour garment} anprobieren?",
        "{owner} {family} 可以 试 一下 {this colour garment} 吗 ？",
    ),
    "bought-for": (
        "{who} bought {a colour garment} for {his who} {family} yesterday.",
        "{who} {hat who} gestern {ein.A colour garment} für {his.A who family} gekauft.",
        "{who} 昨天 给 {his who} {family} 买 了 {one colour garment} 。",
    ),
    "looking-for": (
        "{who} {be who} looking for {a looks wear} in {colour}.",
        "{who} {sucht who} {ein.A looks wear} in {Cap colour}.",
        "{who} 在 找 {one looks wear} ，要 {colour} 的 。",
    ),
    "how-much": (
        "How much does this {wear} cost, and do you have it in {colour}?",
        "Wie viel kostet {dieser.N wear}, und haben Sie {es.A wear} in {Cap colour}?",
        "{this wear} 多少 钱 ，有 {colour} 的 吗 ？",
    ),
    "relative-object": (
        "The {wear} that {who} bought {past} is too {misfit}.",
        "{der.N wear}, {rel.A wear} {who} {past} gekauft {hat who}, ist zu {misfit}.",
        "{who} {past} 买 的 {wear} 太 {misfit} 了 。",
    ),
    # Things
    "cannot-find": (
        "{who} cannot find {his who} {item} in the {chamber}.",
        "{who} {kann who} {his.A who item} {im chamber} nicht finden.",
        "{who} 在 {chamber} 里 找不到 {his who} 的 {item} 。",
    ),
    "where-is": (
        "Where is my {colour} {belonging}? It is {spot} the {furniture}.",
        "Wo ist {mein.N colour belonging}? {es.N belonging} liegt {spot} {der.D furniture}.",
        "我 的 {colour} {belonging} 在 哪儿 ？它 在 {furniture} {spot} 。",
    ),
    "lost": (
        "{who} lost {his who} {item} in the {public} {past}.",
        "{who} {hat who} {past} {im public} {his.A who item} verloren.",
        "{who} {past} 在 {public} 弄丢 了 {his who} 的 {item} 。",
    ),
    "put": (
        "Please put the {condition} {item} {spot} the {furniture}.",
        "Bitte legen Sie {der.A condition item} {spot} {der.A furniture}.",
        "请 把 {attr condition} {item} 放 在 {furniture} {spot} 。",
    ),
    "give": (
        "Please give {owner} {family} the {condition} {item}.",
        "Bitte geben Sie {own.D owner family} {der.A condition item}.",
        "请 把 {attr condition} {item} 给 {owner} {family} 。",
    ),
    "not-mine": (
        "No, that is not my {colour} {belonging}, my {belonging} is {colour2}.",
        "Nein, das ist nicht {mein.N colour belonging}, {mein.N belonging} ist {colour2}.",
        "不 ，那 不 是 我 的 {colour} {belonging} ，我 的 {belonging} 是 {colour2} 的 。",
    ),
    "if-need": (
        "If you need {a item} {soon}, you can ask the {staff}.",
        "Wenn Sie {soon} {ein.A item} brauchen, können Sie {der.A staff} fragen.",
        "如果 您 {soon} 需要 {one item} ，可以 问 {staff} 。",
    ),
    "no-money": (
        "{who} would like to buy {a age belonging}, but {he who} {have who} no money.",
        "{who} {möchte who} {ein.A age belonging} kaufen, aber {he who} {hat who} kein Geld.",
        "{who} 想 买 {one age belonging} ，但是 没有 钱 。",
    ),
    "gave": (
        "{who} gave {his who} {family} {a age belonging}.",
        "{who} {hat who} {his.D who family} {ein.A age belonging} gegeben.",
        "{who} 给 了 {his who} {family} {one age belonging} 。",
    ),
    "staff-gave": (
        "The {staff} gave {me} {a condition item} {recent}.",
        "{der.N staff} hat {me} {recent} {ein.A condition item} gegeben.",
        "{staff} {recent} 给 了 {me} {one condition item} 。",
    ),
    "call-if-found": (
        "Please call {me} if you find {owner} {item}.",
        "Bitte rufen Sie {mich me} an, wenn Sie {own.A owner item} finden.",
        "如果 您 找到 {owner} 的 {item} ，请 给 {me} 打 电话 。",
    ),
    "do-not-forget": (
        "Please do not forget your {item} in the {indoor}.",
        "Bitte vergessen Sie {Ihr.A item} nicht {im indoor}.",
        "请 不要 把 您 的 {item} 忘 在 {indoor} 里 。",
    ),
    # Places and directions
    "way": (
        "Excuse me, how do I get from the {place} to the {place2}?",
        "Entschuldigung, wie komme ich {vom place} {zum place2}?",
        "请问 ，从 {place} 到 {place2} 怎么 走 ？",
    ),
    "is-near": (
        "The {place} is {near} the {place2}.",
        "{der.N place} ist {near} {der.D place2}.",
        "{place} 在 {place2} {near} 。",
    ),
    "is-there": (
        "Is there {a office} {near} the {place}?",
        "Gibt es {near} {der.D place} {ein.A office}?",
        "{place} {near} 有 {office} 吗 ？",
    ),
    "turn": (
        "Turn {side} at the {place} and then go straight ahead to the {place2}.",
        "Biegen Sie {am place} {side} ab und gehen Sie dann geradeaus bis {zum place2}.",
        "请 在 {place} 往 {side} 拐 ，然后 一直 走 到 {place2} 。",
    ),
    "opening-hours": (
        "The {public} opens at {early} and closes at {late}.",
        "{der.N public} öffnet um {early} und schließt um {late}.",
        "{public} {early} 开门 ，{late} 关门 。",
    ),
    "walk": (
        "{who} {walk who} to the {place} {daily}.",
        "{who} {geht who} {daily} zu Fuß {zum place}.",
        "{who} {daily} 走路 去 {place} 。",
    ),
    "want-to-go": (
        "{who} {want who} to go to the {place} by {town} {day}.",
        "{day} {will who} {who} mit {der.D town} {zum place} fahren.",
        "{who} {day} 想 坐 {town} 去 {place} 。",
    ),
    "closed": (
        "{who} cannot visit the {sight} {soon} because it is closed.",
        "{who} {kann who} {der.A sight} {soon} nicht besuchen, weil {es.N sight} geschlossen ist.",
        "{who} {soon} 不 能 参观 {sight} ，因为 它 不 开门 。",
    ),
    "have-you-visited": (
        "Have you already visited the {storied} {sight} in {city}?",
        "Haben Sie schon {der.A storied sight} in {city} besucht?",
        "您 参观 过 {city} {that storied sight} 吗 ？",
    ),
    "visited": (
        "{who} visited {a storied sight} in {city} last year.",
        "{who} {hat who} letztes Jahr in {city} {ein.A storied sight} besucht.",
        "{who} 去年 在 {city} 参观 了 {one storied sight} 。",
    ),
    "sights-compared": (
        "The {sight} in {city} is {more storied} than the {sight} in {city2}.",
        "{der.N sight} in {city} ist {more storied} als {der.N sight} in {city2}.",
        "{city} 的 {sight} 比 {city2} 的 {sight} {storied} 。",
    ),
    "where-unknown": (
        "{who} {do who} not know where the {place} in {city} is.",
        "{who} {weiß who} nicht, wo {der.N place} in {city} ist.",
        "{who} 不 知道 {city} 的 {place} 在 哪儿 。",
    ),
    "tell-when": (
        "Could you tell {me} when the {public} {opens} {day}?",
        "Könnten Sie {me} sagen, wann {der.N public} {day} {opens}?",
        "您 能 告诉 {me} {public} {day} 什么 时候 {opens} 吗 ？",
    ),
    "says-closed": (
        "{who} {say who} that the {public} is closed {soon}.",
        "{who} {sagt who}, dass {der.N public} {soon} geschlossen ist.",
        "{who} 说 {public} {soon} 不 开门 。",
    ),
    # Trains and journeys
    "platform": (
        "The train to {city} leaves at {hour} from platform {number}.",
        "Der Zug nach {city} fährt um {hour} von Gleis {number} ab.",
        "去 {city} 的 火车 {hour} 从 {number} 号 站台 出发 。",
    ),
    "tickets": (
        "{count} tickets to {city} cost {price} euros.",
        "{count} Fahrkarten nach {city} kosten {price} Euro.",
        "{count} 张 去 {city} 的 车票 {price} 欧元 。",
    ),
    "travel": (
        "{who} will travel to {city} by {journey} {soon}.",
        "{who} {reist who} {soon} mit {der.D journey} nach {city}.",
        "{who} {soon} 坐 {journey} 去 {city} 。",
    ),
    "had-to-wait": (
        "{who} had to wait for the {vehicle} for {count} {span} {recent}.",
        "{who} {musste who} {recent} {count} {span} auf {der.A vehicle} warten.",
        "{who} {recent} 等 {vehicle} 等 了 {count} {span} 。",
    ),
    "when-leaves": (
        "When does the {rank} {line} to the {place} leave?",
        "Wann fährt {der.N rank line} {zum place}?",
        "去 {place} 的 {rank} {m line} {line} 几点 出发 ？",
    ),
    "if-late": (
        "If the {journey} to {city} is late, {who} will take the {journey2}.",
        "Wenn {der.N journey} nach {city} Verspätung hat, {nimmt who} {who} {der.A journey2}.",
        "如果 去 {city} 的 {journey} 晚点 ，{who} 就 坐 {journey2} 。",
    ),
    "get-off": (
        "You have to take bus number {number} to the {place} and get off there.",
        "Sie müssen mit dem Bus Nummer {number} bis {zum place} fahren und dort aussteigen.",
        "您 要 坐 {number} 路 公共汽车 到 {place} ，在 那儿 下车 。",
    ),
    "how-long": (
        "How long does it take to get from {city} to {city2} by {journey}?",
        "Wie lange dauert es mit {der.D journey} von {city} nach {city2}?",
        "坐 {journey} 从 {city} 到 {city2} 要 多长 时间 ？",
    ),
    # Hotel
    "book": (
        "{who} would like {a homely quarters} for {count} nights.",
        "{who} {möchte who} {ein.A homely quarters} für {count} Nächte.",
        "{who} 想 要 {one homely quarters} ，住 {count} 个 晚上 。",
    ),
    "room-price": (
        "This {homely} {quarters} costs {price} euros a night.",
        "{dieser.N homely quarters} kostet {price} Euro pro Nacht.",
        "{this homely quarters} 一 晚 {price} 欧元 。",
    ),
    "lacking": (
        "There is no {device} in {owner} {quarters} in {city}.",
        "In {own.D owner quarters} in {city} gibt es {kein.A device}.",
        "{owner} 在 {city} 的 {quarters} 里 没有 {device} 。",
    ),
    "broken": (
        "The {device} in {owner} {quarters} is broken. Could you repair it {soon}?",
        "{der.N device} in {own.D owner quarters} ist kaputt. Könnten Sie {es.A device} {soon} reparieren?",
        "{owner} {quarters} 里 的 {device} 坏 了 。您 {soon} 能 修 一下 吗 ？",
    ),
    "bought-device": (
        "{who} bought {a condition device} for the {chamber}.",
        "{who} {hat who} {ein.A condition device} für {der.A chamber} gekauft.",
        "{who} 给 {chamber} 买 了 {one condition device} 。",
    ),
    "bring": (
        "Could you please bring {me} {count} {tidy} {pl supply}?",
        "Könnten Sie {me} bitte {count} {pl tidy supply} bringen?",
        "您 能 给 {me} 拿 {count} {m supply} {attr tidy} {supply} 吗 ？",
    ),
    "missing": (
        "Excuse me, there are no {tidy} {pl supply} in the {chamber}.",
        "Entschuldigung, {im chamber} gibt es keine {pl_weak tidy supply}.",
        "不好意思 ，{chamber} 里 没有 {attr tidy} {supply} 。",
    ),
    "wake": (
        "Please wake {me} at {early} {later}.",
        "Bitte wecken Sie {mich me} {later} um {early}.",
        "请 {later} {early} 叫醒 {me} 。",
    ),
    # Doctor
    "appointment": (
        "{who} {have who} an appointment with the {advisor} at {early} {day}.",
        "{who} {hat who} {day} um {early} einen Termin {beim advisor}.",
        "{who} {day} {early} 跟 {advisor} 有 预约 。",
    ),
    "hurts": (
        "{owner} {family} says that {poss family} {body} has been hurting since {since}.",
        "{own.N owner family} sagt, dass {its.N family body} seit {since} wehtut.",
        "{owner} {family} 说 {ta family} 的 {body} 从 {since} 开始 就 疼 。",
    ),
    "still-hurts": (
        "If your {body} still hurts {soon}, please call the {medic}.",
        "Wenn {Ihr.N body} {soon} noch wehtut, rufen Sie bitte {der.A medic} an.",
        "如果 您 的 {body} {soon} 还 疼 ，请 给 {medic} 打 电话 。",
    ),
    "does-it-hurt": (
        "Does your {body} hurt when you {act}?",
        "Tut {Ihr.N body} weh, wenn Sie {rest act} {act}?",
        "您 {act} 的 时候 {body} 疼 吗 ？",
    ),
    "unable": (
        "{who} cannot {act} {soon} because {he who} {be who} {unwell}.",
        "{who} {kann who} {soon} {not act} {act}, weil {he who} {unwell} {ist who}.",
        "{who} {soon} 不 能 {act} ，因为 {his who} {unwell} 。",
    ),
    # Family and people
    "reach-daily": (
        "{who} {v who reaching} {his who} {family} {daily}.",
        "{who} {v who reaching} {daily} {to_his reaching who family} {prefix reaching}.",
        "{who} {daily} {to reaching who family} 。",
    ),
    "reach-wish": (
        "{who} {want who} to {reaching} {his who} {family} {soon}.",
        "{who} {will who} {soon} {to_his reaching who family} {reaching}.",
        "{who} {soon} 想 {to reaching who family} 。",
    ),
    "reached": (
        "{who} {was reaching} the {worker} {recent}.",
        "{who} {hat who} {recent} {to reaching worker} {part reaching}.",
        "{who} {recent} {le_to reaching worker} 。",
    ),
    "reach-often": (
        "{self} {often} {reaching} the {worker}.",
        "{self} {v self reaching} {often} {to reaching worker} {prefix reaching}.",
        "{self} {often} {to reaching worker} 。",
    ),
    "praise": (
        "{who} {think who} that {his who} {family} is very {trait}.",
        "{who} {findet who}, dass {his.N who family} sehr {trait} ist.",
        "{who} 觉得 {his who} {family} 很 {trait} 。",
    ),
    "happy": (
        "{who} {be who} happy because {his who} {family} is coming {soon}.",
        "{who} {ist who} froh, weil {his.N who family} {soon} kommt.",
        "{who} 很 高兴 ，因为 {his who} {family} {soon} 来 。",
    ),
    "lives": (
        "{owner} {family} lives in {city} and works in {a office}.",
        "{own.N owner family} wohnt in {city} und arbeitet in {ein.D office}.",
        "{owner} {family} 住 在 {city} ，在 {one office} 工作 。",
    ),
    "people-compared": (
        "{owner} {family} is {more trait} than {owner} {family2}.",
        "{own.N owner family} ist {more trait} als {own.N owner family2}.",
        "{owner} {family} 比 {owner} {family2} {trait} 。",
    ),
    "introduced": (
        "This is {owner} {family}. {es family} speaks {language} and {language2}.",
        "Das ist {own.N owner family}. {es.N family} spricht {language} und {language2}.",
        "这 是 {owner} {family} 。{ta family} 会 说 {language} 和 {language2} 。",
    ),
    "languages": (
        "{who} can speak {language}, but {he who} {do who} not understand {language2}.",
        "{who} {kann who} {language} sprechen, aber {he who} {versteht who} kein {language2}.",
        "{who} 会 说 {language} ，但是 不 懂 {language2} 。",
    ),
    "learning": (
        "{who} {have who} been learning {language} for {count} {term}.",
        "{who} {lernt who} seit {count} {term} {language}.",
        "{who} 学 {language} 学 了 {count} {term} 了 。",
    ),
    "know-person": (
        "Do you know the {nice} {person} with the {colour} {belonging}?",
        "Kennen Sie {der.A nice person} mit {der.D colour belonging}?",
        "您 认识 那 {m person} 拿 着 {colour} {belonging} 的 {attr nice} {person} 吗 ？",
    ),
    # Work and days
    "habit": (
        "{who} {often} {v who act} with {his who} {family}.",
        "{who} {v who act} {often} mit {his.D who family} {rest act} {prefix act}.",
        "{who} {often} 跟 {his who} {family} 一起 {act} 。",
    ),
    "plan": (
        "{soon} {self} {be self} {ing act} with {his self} {family}.",
        "{soon} {v self act} {self} mit {his.D self family} {rest act} {prefix act}.",
        "{soon} {self} 跟 {his self} {family} 一起 {act} 。",
    ),
    "no-time": (
        "{self} {have self} no time {soon} because {self} {be self} {ing act}.",
        "{self} {hat self} {soon} keine Zeit, weil {self} {rest act} {end self act}.",
        "{self} {soon} 没有 时间 ，因为 {self} 要 {act} 。",
    ),
    "routine": (
        "{owner} {family} {v family act} {daily}.",
        "{own.N owner family} {v family act} {daily} {rest act} {prefix act}.",
        "{owner} {family} {daily} {act} 。",
    ),
    "over": (
        "{recent} {owner} {family} {was act}.",
        "{recent} {aux family act} {own.N owner family} {rest act} {part act}.",
        "{recent} {owner} {family} {le act} 。",
    ),
    "have-to": (
        "{day} {self} {have self} to {chore} before {early}.",
        "{day} {muss self} {self} vor {early} {rest chore} {chore}.",
        "{day} {self} 得 在 {early} 以前 {chore} 。",
    ),
    "did": (
        "{who} {was act} with {his who} {family} {recent}.",
        "{who} {aux who act} {recent} mit {his.D who family} {rest act} {part act}.",
        "{who} {recent} 跟 {his who} {family} 一起 {le act} 。",
    ),
    "why-not": (
        "Why did {who} not {act} {recent}?",
        "Warum {aux who act} {who} {recent} {not act} {part act}?",
        "{who} {recent} 为什么 没 {act} ？",
    ),
    "right-now": (
        "{owner} {family} is {ing doing} right now.",
        "{own.N owner family} {v family doing} gerade {rest doing} {prefix doing}.",
        "{owner} {family} 正在 {doing} 。",
    ),
    "cannot-come": (
        "{who} cannot come {soon} because {he who} {have who} to {chore}.",
        "{who} {kann who} {soon} nicht kommen, weil {he who} {rest chore} {chore} {muss who}.",
        "{who} {soon} 不 能 来 ，因为 {his who} 得 {chore} 。",
    ),
    "while": (
        "While {who} {be who} {ing chore}, {his who} {family} is {ing leisure}.",
        "Während {who} {rest chore} {end who chore}, "
        "{v family leisure} {his.N who family} {rest leisure} {prefix leisure}.",
        "{who} {chore} 的 时候 ，{his who} {family} 在 {leisure} 。",
    ),
    "before": (
        "Before {who} {v who leisure}, {he who} {have who} to {chore}.",
        "Bevor {who} {rest leisure} {end who leisure}, {muss who} {he who} {rest chore} {chore}.",
        "{who} {leisure} 以前 ，得 先 {chore} 。",
    ),
    "forgot": (
        "{who} forgot to {chore} {recent}.",
        "{who} {hat who} {recent} vergessen, {rest chore} {zu chore}.",
        "{who} {recent} 忘 了 {chore} 。",
    ),
    "if-fair": (
        "If the weather is {fair} {day}, {who} will {outing}.",
        "Wenn das Wetter {day} {fair} ist, {v who outing} {who} {rest outing} {prefix outing}.",
        "如果 {day} 天气 {fair} ，{who} 就 {outing} 。",
    ),
    "if-rain": (
        "If it {v3 falls} {day}, {who} will stay at home and {cozy}.",
        "Wenn es {day} {falls}, {bleibt who} {who} zu Hause und {v who cozy} {rest cozy} {prefix cozy}.",
        "如果 {day} {falls} ，{who} 就 待 在 家 里 {cozy} 。",
    ),
    "forecast": (
        "It is {climate} in {city} today, but it will {falls} {later}.",
        "Heute ist es in {city} {climate}, aber {later} {falls} es.",
        "今天 {city} 很 {climate} ，但是 {later} 会 {falls} 。",
    ),
    "weather-compared": (
        "It was {more climate} in {city} than in {city2} {past}.",
        "In {city} war es {past} {more climate} als in {city2}.",
        "{past} {city} 比 {city2} {climate} 。",
    ),
    "start-work": (
        "{who} {have who} to start work at {hour} {day}.",
        "{who} {muss who} {day} um {hour} mit der Arbeit anfangen.",
        "{who} {day} {hour} 得 开始 工作 。",
    ),
    "event-begins": (
        "The {worker} says that the {event} begins at {hour}.",
        "{der.N worker} sagt, dass {der.N event} um {hour} beginnt.",
        "{the worker} 说 {event} {hour} 开始 。",
    ),
    "relative-subject": (
        "The {adult} who speaks {language} works in {a office} in {city}.",
        "{der.N adult}, {rel.N adult} {language} spricht, arbeitet in {ein.D office} in {city}.",
        "会 说 {language} 的 {that adult} 在 {city} 的 {one office} 工作 。",
    ),
    "there-are": (
        "There are {count} {pl worker} in the {indoor}.",
        "{im indoor} sind {count} {pl worker}.",
        "{indoor} 里 有 {count} {m worker} {worker} 。",
    ),
    "tickets-for": (
        "{who} bought {count} tickets for the {show} {recent}.",
        "{who} {hat who} {recent} {count} Karten für {der.A show} gekauft.",
        "{who} {recent} 买 了 {count} 张 {show} 票 。",
    ),
}

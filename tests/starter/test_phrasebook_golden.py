"""One sentence of every template of the phrasebook, read and found right by hand in all three languages.

A block names a template and the place of the filling among all of its fillings. After a change of the words the
places move: take other sentences, and read them.
"""

from itertools import islice

import pytest

from regard.starter.phrases.sentences import finished, templates

SENTENCES = """
order 1046
They would like an apple and a bottle of beer.
Sie möchten einen Apfel und eine Flasche Bier.
他们想要一个苹果和一瓶啤酒。

order-several 379
Nine pears and a cup of tea with milk, please.
Neun Birnen und eine Tasse Tee mit Milch, bitte.
请给我九个梨和一杯加牛奶的茶。

ate 5874
Peter tried a cake in the café this morning.
Peter hat heute Morgen im Café einen Kuchen probiert.
彼得今天早上在咖啡馆尝了一块蛋糕。

complaint 814
Excuse me, this pancake is too expensive and the milk is too cold.
Entschuldigung, dieser Pfannkuchen ist zu teuer und die Milch ist zu kalt.
不好意思，这张煎饼太贵了，牛奶太凉了。

opinion 1414
My parents think that the egg in this restaurant is too expensive.
Meine Eltern finden, dass das Ei in diesem Restaurant zu teuer ist.
我父母觉得这家餐厅的鸡蛋太贵了。

looks-but 14
The fresh soup in the bakery looks good, but it is too expensive.
Die frische Suppe in der Bäckerei sieht gut aus, aber sie ist zu teuer.
面包店里新鲜的汤看起来不错，但是太贵了。

buy-food 6884
Our neighbors want to buy seven fresh eggs.
Unsere Nachbarn wollen sieben frische Eier kaufen.
我们的邻居想买七个新鲜的鸡蛋。

sold-out 476
Unfortunately we do not have any small eggs next week.
Leider haben wir nächste Woche keine kleinen Eier.
可惜我们下周没有小鸡蛋。

food-price 794
Ten pears cost fifteen euros.
Zehn Birnen kosten fünfzehn Euro.
十个梨十五欧元。

dislike 510
She does not like sandwiches, but she likes to drink coffee.
Sie mag keine Sandwiches, aber sie trinkt gern Kaffee.
她不喜欢吃三明治，但是喜欢喝咖啡。

rather 664
Would you rather drink lemonade or tea with the burger?
Möchten Sie zum Burger lieber Limonade oder Tee trinken?
您吃汉堡的时候想喝柠檬水还是茶？

and-you 53
We often drink water in the evening. And you?
Wir trinken abends oft Wasser. Und Sie?
我们晚上经常喝水。您呢？

never-eaten 321
He has never eaten a pancake in Munich.
Er hat in München noch nie einen Pfannkuchen gegessen.
他在慕尼黑从来没吃过煎饼。

wear-price 231
This blue skirt costs twenty euros.
Dieser blaue Rock kostet zwanzig Euro.
这条蓝色的裙子二十欧元。

wear-compared 3045
The white belt is more expensive than the sweater.
Der weiße Gürtel ist teurer als der Pullover.
白色的腰带比毛衣贵。

try-on 1921
May her son try on this green vest?
Darf ihr Sohn diese grüne Weste anprobieren?
她儿子可以试一下这件绿色的背心吗？

bought-for 2019
She bought a white sweater for her aunt yesterday.
Sie hat gestern einen weißen Pullover für ihre Tante gekauft.
她昨天给她姑姑买了一件白色的毛衣。

looking-for 3119
Anna is looking for a beautiful scarf in gray.
Anna sucht einen schönen Schal in Grau.
安娜在找一条漂亮的围巾，要灰色的。

how-much 69
How much does this skirt cost, and do you have it in yellow?
Wie viel kostet dieser Rock, und haben Sie ihn in Gelb?
这条裙子多少钱，有黄色的吗？

relative-object 417
The coat that our neighbors bought last year is too small.
Der Mantel, den unsere Nachbarn letztes Jahr gekauft haben, ist zu klein.
我们的邻居去年买的大衣太小了。

cannot-find 1175
My parents cannot find their newspaper in the garage.
Meine Eltern können ihre Zeitung in der Garage nicht finden.
我父母在车库里找不到他们的报纸。

where-is 1021
Where is my black notebook? It is next to the box.
Wo ist mein schwarzes Heft? Es liegt neben der Kiste.
我的黑色本子在哪儿？它在箱子旁边。

lost 214
I lost my backpack in the supermarket last year.
Ich habe letztes Jahr im Supermarkt meinen Rucksack verloren.
我去年在超市弄丢了我的背包。

put 443
Please put the new ticket next to the shelf.
Bitte legen Sie die neue Fahrkarte neben das Regal.
请把新的车票放在架子旁边。

give 835
Please give his sister the new phone.
Bitte geben Sie seiner Schwester das neue Handy.
请把新的手机给他姐姐。

not-mine 143
No, that is not my green suitcase, my suitcase is white.
Nein, das ist nicht mein grüner Koffer, mein Koffer ist weiß.
不，那不是我的绿色行李箱，我的行李箱是白色的。

if-need 372
If you need a wallet tomorrow, you can ask the waiter.
Wenn Sie morgen einen Geldbeutel brauchen, können Sie den Kellner fragen.
如果您明天需要一个钱包，可以问服务员。

no-money 392
My parents would like to buy a cheap wallet, but they have no money.
Meine Eltern möchten einen billigen Geldbeutel kaufen, aber sie haben kein Geld.
我父母想买一个便宜的钱包，但是没有钱。

gave 1595
They gave their son an old suitcase.
Sie haben ihrem Sohn einen alten Koffer gegeben.
他们给了他们儿子一个旧的行李箱。

staff-gave 1307
The teacher gave us a new suitcase on Friday.
Der Lehrer hat uns am Freitag einen neuen Koffer gegeben.
老师星期五给了我们一个新的行李箱。

call-if-found 36
Please call me if you find his bag.
Bitte rufen Sie mich an, wenn Sie seine Tasche finden.
如果您找到他的包，请给我打电话。

do-not-forget 71
Please do not forget your notebook in the hospital.
Bitte vergessen Sie Ihr Heft nicht im Krankenhaus.
请不要把您的本子忘在医院里。

way 316
Excuse me, how do I get from the zoo to the airport?
Entschuldigung, wie komme ich vom Zoo zum Flughafen?
请问，从动物园到机场怎么走？

is-near 1264
The zoo is across from the pharmacy.
Der Zoo ist gegenüber der Apotheke.
动物园在药店对面。

is-there 455
Is there a cinema behind the station?
Gibt es hinter dem Bahnhof ein Kino?
火车站后面有电影院吗？

turn 129
Turn left at the hotel and then go straight ahead to the library.
Biegen Sie am Hotel links ab und gehen Sie dann geradeaus bis zur Bibliothek.
请在酒店往左拐，然后一直走到图书馆。

opening-hours 270
The café opens at eleven o'clock and closes at three o'clock.
Das Café öffnet um elf Uhr und schließt um drei Uhr.
咖啡馆十一点开门，三点关门。

walk 3
I walk to the restaurant every weekend.
Ich gehe jedes Wochenende zu Fuß zum Restaurant.
我每个周末走路去餐厅。

want-to-go 87
I want to go to the bakery by train on Sunday.
Am Sonntag will ich mit dem Zug zur Bäckerei fahren.
我星期天想坐火车去面包店。

closed 214
She cannot visit the theater on Sunday because it is closed.
Sie kann das Theater am Sonntag nicht besuchen, weil es geschlossen ist.
她星期天不能参观剧院，因为它不开门。

have-you-visited 110
Have you already visited the famous zoo in Rome?
Haben Sie schon den berühmten Zoo in Rom besucht?
您参观过罗马那家有名的动物园吗？

visited 679
He visited an old museum in Beijing last year.
Er hat letztes Jahr in Peking ein altes Museum besucht.
他去年在北京参观了一家古老的博物馆。

sights-compared 681
The theater in Berlin is more famous than the theater in Zurich.
Das Theater in Berlin ist berühmter als das Theater in Zürich.
柏林的剧院比苏黎世的剧院有名。

where-unknown 592
She does not know where the theater in Berlin is.
Sie weiß nicht, wo das Theater in Berlin ist.
她不知道柏林的剧院在哪儿。

tell-when 321
Could you tell us when the library opens tomorrow?
Könnten Sie uns sagen, wann die Bibliothek morgen öffnet?
您能告诉我们图书馆明天什么时候开门吗？

says-closed 407
She says that the museum is closed on Monday.
Sie sagt, dass das Museum am Montag geschlossen ist.
她说博物馆星期一不开门。

platform 838
The train to Zurich leaves at eight o'clock from platform four.
Der Zug nach Zürich fährt um acht Uhr von Gleis vier ab.
去苏黎世的火车八点从四号站台出发。

tickets 186
Three tickets to Beijing cost thirty-six euros.
Drei Fahrkarten nach Peking kosten sechsunddreißig Euro.
三张去北京的车票三十六欧元。

travel 2828
Our neighbors will travel to Rome by plane on Monday.
Unsere Nachbarn reisen am Montag mit dem Flugzeug nach Rom.
我们的邻居星期一坐飞机去罗马。

had-to-wait 1612
She had to wait for the bus for five minutes yesterday.
Sie musste gestern fünf Minuten auf den Bus warten.
她昨天等公共汽车等了五分钟。

when-leaves 247
When does the first subway to the station leave?
Wann fährt die erste U-Bahn zum Bahnhof?
去火车站的第一班地铁几点出发？

if-late 784
If the plane to Beijing is late, Thomas will take the bus.
Wenn das Flugzeug nach Peking Verspätung hat, nimmt Thomas den Bus.
如果去北京的飞机晚点，托马斯就坐公共汽车。

get-off 76
You have to take bus number five to the castle and get off there.
Sie müssen mit dem Bus Nummer fünf bis zum Schloss fahren und dort aussteigen.
您要坐五路公共汽车到城堡，在那儿下车。

how-long 5
How long does it take to get from Berlin to Vienna by bus?
Wie lange dauert es mit dem Bus von Berlin nach Wien?
坐公共汽车从柏林到维也纳要多长时间？

book 1479
Maria would like a cozy room for five nights.
Maria möchte ein gemütliches Zimmer für fünf Nächte.
玛丽亚想要一个舒适的房间，住五个晚上。

room-price 212
This big single room costs fifty euros a night.
Dieses große Einzelzimmer kostet fünfzig Euro pro Nacht.
这个大单人间一晚五十欧元。

lacking 339
There is no window in my double room in Zurich.
In meinem Doppelzimmer in Zürich gibt es kein Fenster.
我在苏黎世的双人间里没有窗户。

broken 298
The television in her single room is broken. Could you repair it tomorrow?
Der Fernseher in ihrem Einzelzimmer ist kaputt. Könnten Sie ihn morgen reparieren?
她单人间里的电视机坏了。您明天能修一下吗？

bought-device 540
Anna bought an old window for the kitchen.
Anna hat ein altes Fenster für die Küche gekauft.
安娜给厨房买了一扇旧的窗户。

bring 66
Could you please bring me four new plates?
Könnten Sie mir bitte vier neue Teller bringen?
您能给我拿四个新盘子吗？

missing 84
Excuse me, there are no big towels in the kitchen.
Entschuldigung, in der Küche gibt es keine großen Handtücher.
不好意思，厨房里没有大毛巾。

wake 154
Please wake us at eleven o'clock tomorrow.
Bitte wecken Sie uns morgen um elf Uhr.
请明天十一点叫醒我们。

appointment 27
I have an appointment with the doctor at half past seven on Tuesday.
Ich habe am Dienstag um halb acht einen Termin beim Arzt.
我星期二七点半跟医生有预约。

hurts 2441
Their mother says that her shoulder has been hurting since Monday.
Ihre Mutter sagt, dass ihre Schulter seit Montag wehtut.
他们妈妈说她的肩膀从星期一开始就疼。

still-hurts 173
If your nose still hurts on Thursday, please call the nurse.
Wenn Ihre Nase am Donnerstag noch wehtut, rufen Sie bitte die Krankenschwester an.
如果您的鼻子星期四还疼，请给护士打电话。

does-it-hurt 173
Does your stomach hurt when you iron the shirts?
Tut Ihr Bauch weh, wenn Sie die Hemden bügeln?
您熨衬衫的时候肚子疼吗？

unable 1081
We cannot read the newspaper today because we are tired.
Wir können heute die Zeitung nicht lesen, weil wir müde sind.
我们今天不能看报纸，因为我们很累。

reach-daily 2539
They visit their grandfather every Friday.
Sie besuchen jeden Freitag ihren Großvater.
他们每个星期五看望他们爷爷。

reach-wish 5822
Anna wants to write to her grandmother next week.
Anna will nächste Woche ihrer Großmutter schreiben.
安娜下周想给她奶奶写信。

reached 6705
My parents wrote to the student last night.
Meine Eltern haben gestern Abend dem Studenten geschrieben.
我父母昨天晚上给那个学生写了信。

reach-often 626
I rarely call the student.
Ich rufe selten den Studenten an.
我很少给那个学生打电话。

praise 492
Thomas thinks that his brother is very tall.
Thomas findet, dass sein Bruder sehr groß ist.
托马斯觉得他哥哥很高。

happy 713
Peter is happy because his aunt is coming on Monday.
Peter ist froh, weil seine Tante am Montag kommt.
彼得很高兴，因为他姑姑星期一来。

lives 1293
Our grandfather lives in Beijing and works in a hotel.
Unser Großvater wohnt in Peking und arbeitet in einem Hotel.
我们爷爷住在北京，在一家酒店工作。

people-compared 756
Our son is taller than our mother.
Unser Sohn ist größer als unsere Mutter.
我们儿子比我们妈妈高。

introduced 1971
This is their grandmother. She speaks Russian and French.
Das ist ihre Großmutter. Sie spricht Russisch und Französisch.
这是他们奶奶。她会说俄语和法语。

languages 241
Anna can speak Spanish, but she does not understand English.
Anna kann Spanisch sprechen, aber sie versteht kein Englisch.
安娜会说西班牙语，但是不懂英语。

learning 721
She has been learning Spanish for eight months.
Sie lernt seit acht Monaten Spanisch.
她学西班牙语学了八个月了。

know-person 116
Do you know the young woman with the white camera?
Kennen Sie die junge Frau mit der weißen Kamera?
您认识那个拿着白色相机的年轻的女人吗？

habit 4197
He rarely works in the garden with his grandfather.
Er arbeitet selten mit seinem Großvater im Garten.
他很少跟他爷爷一起去花园干活。

plan 187
Today I am playing football with my grandfather.
Heute spiele ich mit meinem Großvater Fußball.
今天我跟我爷爷一起踢足球。

no-time 486
We have no time next week because we are watching TV.
Wir haben nächste Woche keine Zeit, weil wir fernsehen.
我们下周没有时间，因为我们要看电视。

routine 6142
Their sister goes to the beach every evening.
Ihre Schwester geht jeden Abend an den Strand.
他们姐姐每天晚上去海边。

over 2929
This morning my son drank tea.
Heute Morgen hat mein Sohn Tee getrunken.
今天早上我儿子喝了茶。

have-to 1730
On Sunday I have to wash the dishes before seven o'clock.
Am Sonntag muss ich vor sieben Uhr das Geschirr abwaschen.
星期天我得在七点以前洗碗。

did 6623
Anna went fishing with her daughter on Friday.
Anna ist am Freitag mit ihrer Tochter angeln gegangen.
安娜星期五跟她女儿一起去钓鱼了。

why-not 37
Why did I not do the shopping last night?
Warum habe ich gestern Abend nicht eingekauft?
我昨天晚上为什么没买东西？

right-now 562
His uncle is tidying up the room right now.
Sein Onkel räumt gerade das Zimmer auf.
他叔叔正在收拾房间。

cannot-come 806
Thomas cannot come next week because he has to wash the car.
Thomas kann nächste Woche nicht kommen, weil er das Auto waschen muss.
托马斯下周不能来，因为他得洗车。

while 6862
While Maria is feeding the dog, her grandmother is reading the newspaper.
Während Maria den Hund füttert, liest ihre Großmutter die Zeitung.
玛丽亚喂狗的时候，她奶奶在看报纸。

before 749
Before Peter plays the piano, he has to do the shopping.
Bevor Peter Klavier spielt, muss er einkaufen.
彼得弹钢琴以前，得先买东西。

forgot 192
They forgot to feed the dog yesterday.
Sie haben gestern vergessen, den Hund zu füttern.
他们昨天忘了喂狗。

if-fair 37
If the weather is nice today, they will go fishing.
Wenn das Wetter heute schön ist, gehen sie angeln.
如果今天天气好，他们就去钓鱼。

if-rain 1854
If it snows on Wednesday, I will stay at home and watch TV.
Wenn es am Mittwoch schneit, bleibe ich zu Hause und sehe fern.
如果星期三下雪，我就待在家里看电视。

forecast 47
It is cold in Zurich today, but it will rain on Saturday.
Heute ist es in Zürich kalt, aber am Samstag regnet es.
今天苏黎世很冷，但是星期六会下雨。

weather-compared 370
It was warmer in Vienna than in London yesterday.
In Wien war es gestern wärmer als in London.
昨天维也纳比伦敦暖和。

start-work 804
They have to start work at eight o'clock on Wednesday.
Sie müssen am Mittwoch um acht Uhr mit der Arbeit anfangen.
他们星期三八点得开始工作。

event-begins 243
The nurse says that the course begins at half past seven.
Die Krankenschwester sagt, dass der Kurs um halb acht beginnt.
护士说课程七点半开始。

relative-subject 503
The man who speaks Russian works in a school in Beijing.
Der Mann, der Russisch spricht, arbeitet in einer Schule in Peking.
会说俄语的那个男人在北京的一所学校工作。

there-are 1903
There are ten drivers in the zoo.
Im Zoo sind zehn Fahrer.
动物园里有十位司机。

tickets-for 946
Thomas bought eight tickets for the game this morning.
Thomas hat heute Morgen acht Karten für das Spiel gekauft.
托马斯今天早上买了八张比赛票。
"""

BLOCKS = [block.splitlines() for block in SENTENCES.strip().split("\n\n")]
TEMPLATES = {template.name: template for template in templates()}


def test_every_template_has_a_sentence() -> None:
    assert [block[0].split()[0] for block in BLOCKS] == list(TEMPLATES)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block[0].split()[0])
def test_a_template_says_what_was_read_and_found_right(block: list[str]) -> None:
    place, english, german, chinese = block
    name, index = place.split()
    template = TEMPLATES[name]
    filling = next(islice(template.fillings(), int(index), None))
    assert finished(("en", "de"), template.draft(("en", "de"), filling)) == (english, german)
    assert finished(("en", "zh"), template.draft(("en", "zh"), filling)) == (english, chinese)

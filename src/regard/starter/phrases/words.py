"""The words of the phrasebook, one table per meaning: English | German | Chinese.

Fields are separated by commas and the first is the plain form. Chinese words of one entry are separated by spaces,
which are taken out of the finished sentence.

    noun       singular, plural              | singular, article (`der+`: weak, -n outside the nominative), plural
                                             | noun, measure word
    adjective  plain, comparative            | plain, comparative, stem if it differs
                                             | predicate, attribute if it takes no 的
    verb       plain, third person, past, -ing
                                             | infinitive, ich, er, participle (with `ist`: perfect with sein),
                                               what stands before the verb, the same negated if not with nicht
                                             | present, past
    reaching   as a verb                     | ... , the case or preposition and case its object takes
                                             | present and past, _ for the object
    who        name, pronoun, possessive     | name, pronoun, possessive, person (1, 3, p)   | name, pronoun
"""

WORDS = {
    "dish": """
        soup, soups | Suppe, die, Suppen | 汤, 碗
        salad, salads | Salat, der, Salate | 沙拉, 份
        pizza, pizzas | Pizza, die, Pizzen | 披萨, 个
        sandwich, sandwiches | Sandwich, das, Sandwiches | 三明治, 个
        egg, eggs | Ei, das, Eier | 鸡蛋, 个
        sausage, sausages | Wurst, die, Würste | 香肠, 根
        steak, steaks | Steak, das, Steaks | 牛排, 块
        burger, burgers | Burger, der, Burger | 汉堡, 个
        pancake, pancakes | Pfannkuchen, der, Pfannkuchen | 煎饼, 张
    """,
    "snack": """
        cake, cakes | Kuchen, der, Kuchen | 蛋糕, 块
        apple, apples | Apfel, der, Äpfel | 苹果, 个
        banana, bananas | Banane, die, Bananen | 香蕉, 根
        orange, oranges | Orange, die, Orangen | 橙子, 个
        cookie, cookies | Keks, der, Kekse | 饼干, 块
        pear, pears | Birne, die, Birnen | 梨, 个
        bread roll, bread rolls | Brötchen, das, Brötchen | 小面包, 个
    """,
    "hot": """
        coffee | Kaffee, der | 咖啡, 杯
        tea | Tee, der | 茶, 杯
        cocoa | Kakao, der | 可可, 杯
    """,
    "cold": """
        water | Wasser, das | 水, 杯
        juice | Saft, der | 果汁, 杯
        wine | Wein, der | 葡萄酒, 杯
        beer | Bier, das | 啤酒, 杯
        milk | Milch, die | 牛奶, 杯
        lemonade | Limonade, die | 柠檬水, 杯
        cola | Cola, die | 可乐, 杯
    """,
    "vessel": """
        glass, glasses | Glas, das, Gläser | 杯
        bottle, bottles | Flasche, die, Flaschen | 瓶
    """,
    "garment": """
        jacket, jackets | Jacke, die, Jacken | 夹克, 件
        coat, coats | Mantel, der, Mäntel | 大衣, 件
        shirt, shirts | Hemd, das, Hemden | 衬衫, 件
        vest, vests | Weste, die, Westen | 背心, 件
        scarf, scarves | Schal, der, Schals | 围巾, 条
        sweater, sweaters | Pullover, der, Pullover | 毛衣, 件
        belt, belts | Gürtel, der, Gürtel | 腰带, 条
    """,
    "outfit": """
        dress, dresses | Kleid, das, Kleider | 连衣裙, 条
        skirt, skirts | Rock, der, Röcke | 裙子, 条
        suit, suits | Anzug, der, Anzüge | 西装, 套
        tie, ties | Krawatte, die, Krawatten | 领带, 条
    """,
    "belonging": """
        bag, bags | Tasche, die, Taschen | 包, 个
        umbrella, umbrellas | Regenschirm, der, Regenschirme | 雨伞, 把
        suitcase, suitcases | Koffer, der, Koffer | 行李箱, 个
        backpack, backpacks | Rucksack, der, Rucksäcke | 背包, 个
        notebook, notebooks | Heft, das, Hefte | 本子, 个
        wallet, wallets | Geldbeutel, der, Geldbeutel | 钱包, 个
        pen, pens | Stift, der, Stifte | 笔, 支
        phone, phones | Handy, das, Handys | 手机, 部
        camera, cameras | Kamera, die, Kameras | 相机, 台
    """,
    "paper": """
        key, keys | Schlüssel, der, Schlüssel | 钥匙, 把
        passport, passports | Pass, der, Pässe | 护照, 本
        book, books | Buch, das, Bücher | 书, 本
        watch, watches | Uhr, die, Uhren | 手表, 块
        ticket, tickets | Fahrkarte, die, Fahrkarten | 车票, 张
        map, maps | Stadtplan, der, Stadtpläne | 地图, 张
        newspaper, newspapers | Zeitung, die, Zeitungen | 报纸, 份
        letter, letters | Brief, der, Briefe | 信, 封
        photo, photos | Foto, das, Fotos | 照片, 张
    """,
    "furniture": """
        table, tables | Tisch, der, Tische | 桌子, 张
        chair, chairs | Stuhl, der, Stühle | 椅子, 把
        bed, beds | Bett, das, Betten | 床, 张
        shelf, shelves | Regal, das, Regale | 架子, 个
        sofa, sofas | Sofa, das, Sofas | 沙发, 张
        box, boxes | Kiste, die, Kisten | 箱子, 个
        piano, pianos | Klavier, das, Klaviere | 钢琴, 架
        bench, benches | Bank, die, Bänke | 长椅, 把
    """,
    "eatery": """
        restaurant, restaurants | Restaurant, das, Restaurants | 餐厅, 家
        café, cafés | Café, das, Cafés | 咖啡馆, 家
        bakery, bakeries | Bäckerei, die, Bäckereien | 面包店, 家
    """,
    "shop": """
        supermarket, supermarkets | Supermarkt, der, Supermärkte | 超市, 家
        pharmacy, pharmacies | Apotheke, die, Apotheken | 药店, 家
        cinema, cinemas | Kino, das, Kinos | 电影院, 家
    """,
    "service": """
        hotel, hotels | Hotel, das, Hotels | 酒店, 家
        hospital, hospitals | Krankenhaus, das, Krankenhäuser | 医院, 家
        school, schools | Schule, die, Schulen | 学校, 所
    """,
    "sight": """
        museum, museums | Museum, das, Museen | 博物馆, 家
        library, libraries | Bibliothek, die, Bibliotheken | 图书馆, 座
        theater, theaters | Theater, das, Theater | 剧院, 家
        church, churches | Kirche, die, Kirchen | 教堂, 座
        castle, castles | Schloss, das, Schlösser | 城堡, 座
        park, parks | Park, der, Parks | 公园, 座
        zoo, zoos | Zoo, der, Zoos | 动物园, 家
    """,
    "outside": """
        station, stations | Bahnhof, der, Bahnhöfe | 火车站, 个
        airport, airports | Flughafen, der, Flughäfen | 机场, 个
        bridge, bridges | Brücke, die, Brücken | 大桥, 座
        harbor, harbors | Hafen, der, Häfen | 港口, 个
        stadium, stadiums | Stadion, das, Stadien | 体育场, 座
    """,
    "near": """
        next to | neben | 旁边
        in front of | vor | 前面
        behind | hinter | 后面
        across from | gegenüber | 对面
    """,
    "spot": """
        on | auf | 上
        under | unter | 下面
        behind | hinter | 后面
        next to | neben | 旁边
    """,
    "chamber": """
        kitchen, kitchens | Küche, die, Küchen | 厨房, 间
        bathroom, bathrooms | Badezimmer, das, Badezimmer | 浴室, 间
        bedroom, bedrooms | Schlafzimmer, das, Schlafzimmer | 卧室, 间
        living room, living rooms | Wohnzimmer, das, Wohnzimmer | 客厅, 间
        basement, basements | Keller, der, Keller | 地下室, 间
        garage, garages | Garage, die, Garagen | 车库, 间
    """,
    "quarters": """
        room, rooms | Zimmer, das, Zimmer | 房间, 个
        single room, single rooms | Einzelzimmer, das, Einzelzimmer | 单人间, 个
        double room, double rooms | Doppelzimmer, das, Doppelzimmer | 双人间, 个
        apartment, apartments | Wohnung, die, Wohnungen | 公寓, 套
    """,
    "coach": """
        train, trains | Zug, der, Züge | 火车, 趟
        bus, buses | Bus, der, Busse | 公共汽车, 班
    """,
    "metro": """
        tram, trams | Straßenbahn, die, Straßenbahnen | 电车, 班
        subway, subways | U-Bahn, die, U-Bahnen | 地铁, 班
    """,
    "cab": """
        taxi, taxis | Taxi, das, Taxis | 出租车, 辆
    """,
    "voyage": """
        plane, planes | Flugzeug, das, Flugzeuge | 飞机, 架
        ship, ships | Schiff, das, Schiffe | 船, 艘
    """,
    "city": """
        Berlin | Berlin | 柏林
        Munich | München | 慕尼黑
        Vienna | Wien | 维也纳
        Zurich | Zürich | 苏黎世
        Paris | Paris | 巴黎
        London | London | 伦敦
        Rome | Rom | 罗马
        Beijing | Peking | 北京
    """,
    "language": """
        German | Deutsch | 德语
        English | Englisch | 英语
        Chinese | Chinesisch | 汉语
        French | Französisch | 法语
        Italian | Italienisch | 意大利语
        Spanish | Spanisch | 西班牙语
        Russian | Russisch | 俄语
    """,
    "family": """
        mother, mothers | Mutter, die, Mütter | 妈妈, 个
        father, fathers | Vater, der, Väter | 爸爸, 个
        brother, brothers | Bruder, der, Brüder | 哥哥, 个
        sister, sisters | Schwester, die, Schwestern | 姐姐, 个
        son, sons | Sohn, der, Söhne | 儿子, 个
        daughter, daughters | Tochter, die, Töchter | 女儿, 个
        grandmother, grandmothers | Großmutter, die, Großmütter | 奶奶, 个
        grandfather, grandfathers | Großvater, der, Großväter | 爷爷, 个
        uncle, uncles | Onkel, der, Onkel | 叔叔, 个
        aunt, aunts | Tante, die, Tanten | 姑姑, 个
    """,
    "medic": """
        doctor, doctors | Arzt, der, Ärzte | 医生, 位
        nurse, nurses | Krankenschwester, die, Krankenschwestern | 护士, 位
    """,
    "expert": """
        teacher, teachers | Lehrer, der, Lehrer | 老师, 位
        guide, guides | Reiseführer, der, Reiseführer | 导游, 位
    """,
    "crew": """
        waiter, waiters | Kellner, der, Kellner | 服务员, 位
        cook, cooks | Koch, der, Köche | 厨师, 位
        driver, drivers | Fahrer, der, Fahrer | 司机, 位
        police officer, police officers | Polizist, der+, Polizisten | 警察, 位
    """,
    "adult": """
        man, men | Mann, der, Männer | 男人, 个
        woman, women | Frau, die, Frauen | 女人, 个
        student, students | Student, der+, Studenten | 学生, 个
    """,
    "youth": """
        boy, boys | Junge, der+, Jungen | 男孩, 个
        girl, girls | Mädchen, das, Mädchen | 女孩, 个
        tourist, tourists | Tourist, der+, Touristen | 游客, 个
    """,
    "body": """
        head | Kopf, der | 头
        back | Rücken, der | 背
        arm | Arm, der | 胳膊
        leg | Bein, das | 腿
        foot | Fuß, der | 脚
        knee | Knie, das | 膝盖
        stomach | Bauch, der | 肚子
        hand | Hand, die | 手
        shoulder | Schulter, die | 肩膀
        nose | Nase, die | 鼻子
        ear | Ohr, das | 耳朵
        tooth | Zahn, der | 牙
    """,
    "device": """
        lamp, lamps | Lampe, die, Lampen | 灯, 盏
        television, televisions | Fernseher, der, Fernseher | 电视机, 台
        window, windows | Fenster, das, Fenster | 窗户, 扇
        telephone, telephones | Telefon, das, Telefone | 电话, 部
        shower, showers | Dusche, die, Duschen | 淋浴, 个
        heater, heaters | Heizung, die, Heizungen | 暖气, 个
        refrigerator, refrigerators | Kühlschrank, der, Kühlschränke | 冰箱, 台
        radio, radios | Radio, das, Radios | 收音机, 台
    """,
    "supply": """
        towel, towels | Handtuch, das, Handtücher | 毛巾, 条
        blanket, blankets | Decke, die, Decken | 毯子, 条
        pillow, pillows | Kissen, das, Kissen | 枕头, 个
        plate, plates | Teller, der, Teller | 盘子, 个
        spoon, spoons | Löffel, der, Löffel | 勺子, 把
        fork, forks | Gabel, die, Gabeln | 叉子, 把
        knife, knives | Messer, das, Messer | 刀子, 把
    """,
    "show": """
        concert, concerts | Konzert, das, Konzerte | 音乐会, 场
        film, films | Film, der, Filme | 电影, 部
        game, games | Spiel, das, Spiele | 比赛, 场
    """,
    "gathering": """
        meeting, meetings | Besprechung, die, Besprechungen | 会议, 个
        course, courses | Kurs, der, Kurse | 课程, 个
        party, parties | Party, die, Partys | 聚会, 个
    """,
    "colour": """
        red | rot | 红色
        blue | blau | 蓝色
        green | grün | 绿色
        black | schwarz | 黑色
        white | weiß | 白色
        yellow | gelb | 黄色
        brown | braun | 棕色
        gray | grau | 灰色
    """,
    "condition": """
        new, newer | neu, neuer | 新
        old, older | alt, älter | 旧
    """,
    "worth": """
        expensive, more expensive | teuer, teurer, teur | 贵
        cheap, cheaper | billig, billiger | 便宜
    """,
    "looks": """
        elegant, more elegant | elegant, eleganter | 优雅
        modern, more modern | modern, moderner | 时髦
        light, lighter | leicht, leichter | 轻便
        cheap, cheaper | billig, billiger | 便宜
        expensive, more expensive | teuer, teurer, teur | 贵
        beautiful, more beautiful | schön, schöner | 漂亮
    """,
    "misfit": """
        big, bigger | groß, größer | 大, 大
        small, smaller | klein, kleiner | 小, 小
        expensive, more expensive | teuer, teurer, teur | 贵
        heavy, heavier | schwer, schwerer | 重
    """,
    "appeal": """
        fresh | frisch | 新鲜
        delicious | lecker | 好吃
    """,
    "extent": """
        big | groß | 大, 大
        small | klein | 小, 小
        cheap | billig | 便宜
    """,
    "bad": """
        cold | kalt | 凉
        hot | heiß | 烫
        salty | salzig | 咸
        small | klein | 小, 小
        expensive | teuer, teurer, teur | 贵
    """,
    "flavor": """
        sweet | süß | 甜
        expensive | teuer, teurer, teur | 贵
        cold | kalt | 凉
    """,
    "storied": """
        old, older | alt, älter | 古老
        famous, more famous | berühmt, berühmter | 有名
        big, bigger | groß, größer | 大, 大
        beautiful, more beautiful | schön, schöner | 漂亮
        interesting, more interesting | interessant, interessanter | 有意思
        modern, more modern | modern, moderner | 现代
    """,
    "homely": """
        quiet | ruhig | 安静
        bright | hell | 明亮
        clean | sauber | 干净
        cheap | billig | 便宜
        big | groß | 大, 大
        cozy | gemütlich | 舒适
    """,
    "tidy": """
        clean | sauber | 干净
        new | neu | 新, 新
        big | groß | 大, 大
        small | klein | 小, 小
    """,
    "trait": """
        tall, taller | groß, größer | 高
        strong, stronger | stark, stärker | 强壮
        friendly, friendlier | freundlich, freundlicher | 友好
        clever, cleverer | klug, klüger | 聪明
        patient, more patient | geduldig, geduldiger | 有 耐心
        funny, funnier | lustig, lustiger | 幽默
    """,
    "nice": """
        young | jung | 年轻
        friendly | freundlich | 友好
        famous | berühmt | 有名
        tired | müde, müder, müd | 疲惫
    """,
    "unwell": """
        sick | krank | 生病 了
        tired | müde | 很 累
        busy | beschäftigt | 很 忙
    """,
    "climate": """
        cold, colder | kalt, kälter | 冷
        warm, warmer | warm, wärmer | 暖和
        hot, hotter | heiß, heißer | 热
        cool, cooler | kühl, kühler | 凉快
        sunny, sunnier | sonnig, sonniger | 晴朗
    """,
    "fair": """
        nice | schön | 好
        warm | warm | 暖和
        sunny | sonnig | 晴朗
    """,
    "falls": """
        rain, rains | regnet | 下雨
        snow, snows | schneit | 下雪
    """,
    "who": """
        I, I, my | ich, ich, mein, 1 | 我, 我
        we, we, our | wir, wir, unser, p | 我们, 我们
        he, he, his | er, er, sein, 3 | 他, 他
        she, she, her | sie, sie, ihr, 3 | 她, 她
        they, they, their | sie, sie, ihr, p | 他们, 他们
        Anna, she, her | Anna, sie, ihr, 3 | 安娜, 她
        Maria, she, her | Maria, sie, ihr, 3 | 玛丽亚, 她
        Peter, he, his | Peter, er, sein, 3 | 彼得, 他
        Thomas, he, his | Thomas, er, sein, 3 | 托马斯, 他
        our neighbors, they, their | unsere Nachbarn, sie, ihr, p | 我们 的 邻居, 他们
        my parents, they, their | meine Eltern, sie, ihr, p | 我 父母, 他们
    """,
    "self": """
        I, I, my | ich, ich, mein, 1 | 我, 我
        we, we, our | wir, wir, unser, p | 我们, 我们
    """,
    "owner": """
        my | mein | 我
        our | unser | 我们
        his | sein | 他
        her | ihr | 她
        their | ihr | 他们
    """,
    "me": """
        me | mir, mich | 我
        us | uns, uns | 我们
        him | ihm, ihn | 他
        them | ihnen, sie | 他们
    """,
    "eating": """
        eat, eats, ate, eating | essen, esse, isst, gegessen | 吃, 吃 了
        order, orders, ordered, ordering | bestellen, bestelle, bestellt, bestellt | 点, 点 了
        try, tries, tried, trying | probieren, probiere, probiert, probiert | 尝, 尝 了
        buy, buys, bought, buying | kaufen, kaufe, kauft, gekauft | 买, 买 了
    """,
    "reaching": """
        call, calls, called, calling | anrufen, rufe an, ruft an, angerufen, A | 给 _ 打 电话, 给 _ 打 了 电话
        help, helps, helped, helping | helfen, helfe, hilft, geholfen, D | 帮助 _, 帮助 了 _
        wait for, waits for, waited for, waiting for | warten, warte, wartet, gewartet, auf A | 等 _, 等 了 _
        thank, thanks, thanked, thanking | danken, danke, dankt, gedankt, D | 感谢 _, 感谢 了 _
        pick up, picks up, picked up, picking up | abholen, hole ab, holt ab, abgeholt, A | 接 _, 接 了 _
        invite, invites, invited, inviting | einladen, lade ein, lädt ein, eingeladen, A | 邀请 _, 邀请 了 _
        visit, visits, visited, visiting | besuchen, besuche, besucht, besucht, A | 看望 _, 看望 了 _
        ask, asks, asked, asking | fragen, frage, fragt, gefragt, A | 问 _, 问 了 _
        meet, meets, met, meeting | treffen, treffe, trifft, getroffen, A | 见 _, 见 了 _
        write to, writes to, wrote to, writing to \
            | schreiben, schreibe, schreibt, geschrieben, D | 给 _ 写信, 给 _ 写 了 信
        talk to, talks to, talked to, talking to \
            | sprechen, spreche, spricht, gesprochen, mit D | 跟 _ 聊天, 跟 _ 聊 了 天
    """,
    "errand": """
        wash the car, washes the car, washed the car, washing the car \
            | waschen, wasche, wäscht, gewaschen, das Auto | 洗车, 洗 了 车
        water the flowers, waters the flowers, watered the flowers, watering the flowers \
            | gießen, gieße, gießt, gegossen, die Blumen | 浇花, 浇 了 花
        feed the dog, feeds the dog, fed the dog, feeding the dog \
            | füttern, füttere, füttert, gefüttert, den Hund | 喂 狗, 喂 了 狗
        do the shopping, does the shopping, did the shopping, doing the shopping \
            | einkaufen, kaufe ein, kauft ein, eingekauft | 买 东西, 买 了 东西
    """,
    "housework": """
        clean the kitchen, cleans the kitchen, cleaned the kitchen, cleaning the kitchen \
            | putzen, putze, putzt, geputzt, die Küche | 打扫 厨房, 打扫 了 厨房
        cook dinner, cooks dinner, cooked dinner, cooking dinner \
            | kochen, koche, kocht, gekocht, das Abendessen | 做 晚饭, 做 了 晚饭
        tidy up the room, tidies up the room, tidied up the room, tidying up the room \
            | aufräumen, räume auf, räumt auf, aufgeräumt, das Zimmer | 收拾 房间, 收拾 了 房间
        pack the suitcase, packs the suitcase, packed the suitcase, packing the suitcase \
            | packen, packe, packt, gepackt, den Koffer | 收拾 行李, 收拾 了 行李
        wash the dishes, washes the dishes, washed the dishes, washing the dishes \
            | abwaschen, wasche ab, wäscht ab, abgewaschen, das Geschirr | 洗碗, 洗 了 碗
        iron the shirts, irons the shirts, ironed the shirts, ironing the shirts \
            | bügeln, bügle, bügelt, gebügelt, die Hemden | 熨 衬衫, 熨 了 衬衫
    """,
    "sport": """
        play football, plays football, played football, playing football \
            | spielen, spiele, spielt, gespielt, Fußball | 踢 足球, 踢 了 足球
        take pictures, takes pictures, took pictures, taking pictures \
            | machen, mache, macht, gemacht, Fotos, keine Fotos | 拍照, 拍 了 照
    """,
    "pastime": """
        watch TV, watches TV, watched TV, watching TV \
            | fernsehen, sehe fern, sieht fern, ferngesehen | 看 电视, 看 了 电视
        listen to music, listens to music, listened to music, listening to music \
            | hören, höre, hört, gehört, Musik, keine Musik | 听 音乐, 听 了 音乐
        read the newspaper, reads the newspaper, read the newspaper, reading the newspaper \
            | lesen, lese, liest, gelesen, die Zeitung | 看 报纸, 看 了 报纸
        play cards, plays cards, played cards, playing cards \
            | spielen, spiele, spielt, gespielt, Karten | 打牌, 打 了 牌
        play the piano, plays the piano, played the piano, playing the piano \
            | spielen, spiele, spielt, gespielt, Klavier | 弹 钢琴, 弹 了 钢琴
        dance, dances, danced, dancing | tanzen, tanze, tanzt, getanzt | 跳舞, 跳 了 舞
        bake bread, bakes bread, baked bread, baking bread \
            | backen, backe, backt, gebacken, Brot, kein Brot | 烤 面包, 烤 了 面包
        drink tea, drinks tea, drank tea, drinking tea \
            | trinken, trinke, trinkt, getrunken, Tee, keinen Tee | 喝 茶, 喝 了 茶
    """,
    "outing": """
        go for a walk, goes for a walk, went for a walk, going for a walk \
            | gehen, gehe, geht, ist gegangen, spazieren | 去 散步, 去 散步 了
        swim in the lake, swims in the lake, swam in the lake, swimming in the lake \
            | schwimmen, schwimme, schwimmt, ist geschwommen, im See | 去 湖 里 游泳, 去 湖 里 游泳 了
        ride a bike, rides a bike, rode a bike, riding a bike \
            | fahren, fahre, fährt, ist gefahren, Fahrrad | 骑 自行车, 骑 了 自行车
        have a picnic, has a picnic, had a picnic, having a picnic \
            | machen, mache, macht, gemacht, ein Picknick, kein Picknick | 去 野餐, 去 野餐 了
        go to the beach, goes to the beach, went to the beach, going to the beach \
            | gehen, gehe, geht, ist gegangen, an den Strand | 去 海边, 去 海边 了
        go fishing, goes fishing, went fishing, going fishing \
            | gehen, gehe, geht, ist gegangen, angeln | 去 钓鱼, 去 钓鱼 了
        climb the mountain, climbs the mountain, climbed the mountain, climbing the mountain \
            | steigen, steige, steigt, ist gestiegen, auf den Berg | 去 爬山, 去 爬山 了
        work in the garden, works in the garden, worked in the garden, working in the garden \
            | arbeiten, arbeite, arbeitet, gearbeitet, im Garten | 去 花园 干活, 去 花园 干活 了
    """,
    "past": """
        yesterday | gestern | 昨天
        last night | gestern Abend | 昨天 晚上
        last week | letzte Woche | 上周
        last month | letzten Monat | 上个月
        last year | letztes Jahr | 去年
    """,
    "recent": """
        yesterday | gestern | 昨天
        last night | gestern Abend | 昨天 晚上
        this morning | heute Morgen | 今天 早上
        on Friday | am Freitag | 星期五
    """,
    "today": """
        today | heute | 今天
    """,
    "week": """
        next week | nächste Woche | 下周
    """,
    "later": """
        tomorrow | morgen | 明天
        on Monday | am Montag | 星期一
        on Tuesday | am Dienstag | 星期二
        on Wednesday | am Mittwoch | 星期三
        on Thursday | am Donnerstag | 星期四
        on Saturday | am Samstag | 星期六
        on Sunday | am Sonntag | 星期天
    """,
    "since": """
        yesterday | gestern | 昨天
        Monday | Montag | 星期一
        Wednesday | Mittwoch | 星期三
        Saturday | Samstag | 星期六
        this morning | heute Morgen | 今天 早上
    """,
    "daily": """
        every day | jeden Tag | 每天
        every morning | jeden Morgen | 每天 早上
        every evening | jeden Abend | 每天 晚上
        every weekend | jedes Wochenende | 每个 周末
        every Friday | jeden Freitag | 每个 星期五
    """,
    "often": """
        often | oft | 经常
        sometimes | manchmal | 有时候
        always | immer | 总是
        usually | normalerweise | 通常
        rarely | selten | 很少
    """,
    "early": """
        six o'clock | sechs Uhr | 六 点
        half past six | halb sieben | 六 点 半
        seven o'clock | sieben Uhr | 七 点
        half past seven | halb acht | 七 点 半
        eight o'clock | acht Uhr | 八 点
        half past eight | halb neun | 八 点 半
        nine o'clock | neun Uhr | 九 点
        half past nine | halb zehn | 九 点 半
        ten o'clock | zehn Uhr | 十 点
        half past ten | halb elf | 十 点 半
        eleven o'clock | elf Uhr | 十一 点
        half past eleven | halb zwölf | 十一 点 半
    """,
    "late": """
        twelve o'clock | zwölf Uhr | 十二 点
        half past twelve | halb eins | 十二 点 半
        one o'clock | ein Uhr | 一 点
        half past one | halb zwei | 一 点 半
        two o'clock | zwei Uhr | 两 点
        half past two | halb drei | 两 点 半
        three o'clock | drei Uhr | 三 点
        half past three | halb vier | 三 点 半
        four o'clock | vier Uhr | 四 点
        half past four | halb fünf | 四 点 半
        five o'clock | fünf Uhr | 五 点
        half past five | halb sechs | 五 点 半
    """,
    "count": """
        two | zwei | 两
        three | drei | 三
        four | vier | 四
        five | fünf | 五
        six | sechs | 六
        seven | sieben | 七
        eight | acht | 八
        nine | neun | 九
        ten | zehn | 十
    """,
    "number": """
        two | zwei | 二
        three | drei | 三
        four | vier | 四
        five | fünf | 五
        six | sechs | 六
        seven | sieben | 七
        eight | acht | 八
        nine | neun | 九
        ten | zehn | 十
        eleven | elf | 十一
        twelve | zwölf | 十二
    """,
    "price": """
        twelve | zwölf | 十二
        fifteen | fünfzehn | 十五
        eighteen | achtzehn | 十八
        twenty | zwanzig | 二十
        twenty-five | fünfundzwanzig | 二十五
        thirty | dreißig | 三十
        thirty-six | sechsunddreißig | 三十六
        forty | vierzig | 四十
        fifty | fünfzig | 五十
        sixty-four | vierundsechzig | 六十四
        eighty | achtzig | 八十
        ninety | neunzig | 九十
    """,
    "few": """
        five | fünf | 五
        six | sechs | 六
        eight | acht | 八
        ten | zehn | 十
        twelve | zwölf | 十二
        fifteen | fünfzehn | 十五
    """,
    "span": """
        hours | Stunden | 个 小时
        minutes | Minuten | 分钟
    """,
    "term": """
        years | Jahren | 年
        months | Monaten | 个 月
        weeks | Wochen | 个 星期
    """,
    "rank": """
        next | nächste, nächster, nächst | 下 一
        last | letzte, letzter, letzt | 最后 一
        first | erste, erster, erst | 第一
    """,
    "side": """
        left | links | 左
        right | rechts | 右
    """,
    "opens": """
        opens | öffnet | 开门
        closes | schließt | 关门
    """,
}

# A class of a template's slot that takes the words of several tables.
UNIONS = {
    "food": ("dish", "snack"),
    "drink": ("hot", "cold"),
    "taste": ("appeal", "extent"),
    "wear": ("garment", "outfit"),
    "item": ("belonging", "paper"),
    "age": ("condition", "worth"),
    "office": ("eatery", "shop", "service"),
    "public": ("eatery", "shop", "sight"),
    "indoor": ("eatery", "shop", "service", "sight"),
    "place": ("eatery", "shop", "service", "sight", "outside"),
    "line": ("coach", "metro"),
    "town": ("coach", "metro", "cab"),
    "journey": ("coach", "voyage"),
    "vehicle": ("coach", "metro", "cab", "voyage"),
    "staff": ("medic", "expert", "crew"),
    "advisor": ("medic", "expert"),
    "person": ("adult", "youth"),
    "worker": ("medic", "expert", "crew", "adult", "youth"),
    "event": ("show", "gathering"),
    "chore": ("housework", "errand"),
    "leisure": ("pastime", "sport"),
    "doing": ("housework", "errand", "pastime", "sport"),
    "cozy": ("housework", "pastime"),
    "act": ("housework", "errand", "pastime", "sport", "outing"),
    "day": ("today", "later"),
    "soon": ("today", "later", "week"),
    "hour": ("early", "late"),
}

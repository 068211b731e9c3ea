"""Reviews in Chinese: the tables of `reviews_english`, filled for Chinese."""

from regard.starter.grammars.review_tables import ReviewTables
from regard.starter.growing import listed

__all__ = ["CHINESE"]

ASPECTS = {
    "hotel": """
        房间: place | 卫生间: place | 大堂: place | 花园: place | 泳池: place | 走廊: place
        前台: person | 服务员: person | 经理: person
        早餐: dish | 咖啡: drink | 床: comfort | 枕头: comfort | 沙发: comfort | 房价: price
    """,
    "film": """
        剧情: story | 结局: story | 对白: story | 上半部: story | 剧本: story | 主题: story
        男主角: player | 女主角: player | 反派: player | 配角: player
        摄影: craft | 音乐: craft | 灯光: craft | 票价: price | 服装: craft
    """,
    "restaurant": """
        汤: dish | 牛排: dish | 沙拉: dish | 鱼: dish | 甜点: dish | 面条: dish | 饺子: dish
        啤酒: drink | 果汁: drink | 茶: drink | 服务员: person | 厨师: person | 老板: person | 大厅: place | 包间: place
        椅子: comfort | 菜价: price
    """,
    "phone": """
        电池: device | 屏幕: device | 相机: device | 扬声器: device | 键盘: device | 处理器: device | 充电器: device
        指纹识别: device | 系统: device | 麦克风: device | 客服: person | 维修员: person | 售价: price | 外壳: comfort
    """,
}

WORDS = {
    "place": (
        "干净, 明亮, 舒适, 安静, 宽敞, 漂亮, 温暖, 整洁, 迷人, 气派",
        "肮脏, 阴暗, 拥挤, 吵闹, 破旧, 冷, 潮湿, 狭小, 糟糕, 难闻",
        "普通, 一般, 简单, 常见, 平常",
    ),
    "person": (
        "热情, 周到, 细心, 礼貌, 耐心, 友好, 亲切, 专业, 可靠, 勤快",
        "冷淡, 粗鲁, 傲慢, 马虎, 懒散, 急躁, 糟糕, 迟钝, 啰嗦, 凶",
        "普通, 一般, 话少, 平常, 安静",
    ),
    "dish": (
        "好吃, 美味, 新鲜, 鲜嫩, 可口, 清淡, 地道, 精致, 香, 诱人",
        "难吃, 油腻, 冷, 咸, 糟糕, 干, 硬, 生, 焦, 腥",
        "普通, 一般, 平常, 常见, 家常",
    ),
    "drink": (
        "冰爽, 好喝, 清香, 香浓, 新鲜, 可口, 地道, 醇厚, 解渴, 诱人",
        "难喝, 淡, 酸, 苦, 糟糕, 腻, 涩, 怪, 浑浊, 甜腻",
        "普通, 一般, 平常, 常见, 清淡",
    ),
    "comfort": (
        "舒服, 柔软, 结实, 精致, 漂亮, 轻便, 舒适, 讲究, 牢固, 好用",
        "难受, 硬, 破旧, 笨重, 糟糕, 粗糙, 难看, 脆弱, 松动, 廉价",
        "普通, 一般, 平常, 常见, 简单",
    ),
    "price": (
        "公道, 实惠, 合理, 便宜, 划算, 诱人, 亲民, 厚道, 透明, 实在",
        "离谱, 贵, 黑心, 荒唐, 夸张, 糟糕, 吓人, 混乱, 虚高, 坑人",
        "普通, 一般, 平常, 常见, 中等",
    ),
    "story": (
        "精彩, 感人, 紧凑, 巧妙, 幽默, 新颖, 动人, 深刻, 有趣, 刺激",
        "无聊, 拖沓, 混乱, 老套, 肤浅, 糟糕, 沉闷, 荒唐, 冗长, 生硬",
        "普通, 一般, 平常, 常见, 简单",
    ),
    "player": (
        "自然, 出色, 感人, 幽默, 迷人, 精彩, 可信, 动人, 投入, 生动",
        "做作, 生硬, 木讷, 无聊, 糟糕, 夸张, 呆板, 冷淡, 难看, 敷衍",
        "普通, 一般, 平常, 常见, 中等",
    ),
    "craft": (
        "优美, 出色, 精致, 新颖, 讲究, 动人, 漂亮, 精彩, 震撼, 细腻",
        "粗糙, 难看, 马虎, 糟糕, 廉价, 混乱, 沉闷, 生硬, 刺眼, 业余",
        "普通, 一般, 平常, 常见, 简单",
    ),
    "device": (
        "快, 可靠, 出色, 清晰, 强大, 耐用, 灵敏, 稳定, 好用, 精准",
        "慢, 卡, 糟糕, 模糊, 脆弱, 迟钝, 难用, 粗糙, 混乱, 烫",
        "普通, 一般, 平常, 常见, 中等",
    ),
}

CLAUSES = {
    "positive": (
        "{aspect1}很{good1}",
        "{aspect1}非常{good1}",
        "{aspect1}又{good1}又{good2}",
        "我觉得{aspect1}很{good1}",
        "{aspect1}一点也不{bad1}",
        "没有人会说{aspect1}{bad1}",
        "{aspect1}从来没有让人觉得{bad1}",
        "很少见到这么{good1}的{aspect1}",
    ),
    "negative": (
        "{aspect1}很{bad1}",
        "{aspect1}非常{bad1}",
        "{aspect1}又{bad1}又{bad2}",
        "我觉得{aspect1}很{bad1}",
        "{aspect1}一点也不{good1}",
        "没有人会说{aspect1}{good1}",
        "{aspect1}从来没有让人觉得{good1}",
        "很少见到这么{bad1}的{aspect1}",
    ),
    "neutral": (
        "{aspect1}比较{mild1}",
        "我觉得{aspect1}比较{mild1}",
        "{aspect1}谈不上{good1}，也谈不上{bad1}",
        "{aspect1}有时{good1}，有时{bad1}",
        "{aspect1}说不上{bad1}，也说不上{good1}",
    ),
}

SENTENCES = ("{clause}。", "{clause}。", "{clause}。", "不得不说，{clause}。", "对我们来说，{clause}。")

CONTRASTS = {
    "positive": {
        "{first}，但是{second}。": ("neutral", "positive"),
        "虽然{first}，但是{second}，这对我们更重要。": ("negative", "positive"),
        "{first}，不过{second}，弥补了一切。": ("negative", "positive"),
        "{first}，而且{second}。": ("positive", "positive"),
    },
    "negative": {
        "{first}，但是{second}。": ("neutral", "negative"),
        "虽然{first}，但是{second}，这对我们更重要。": ("positive", "negative"),
        "{first}，不过{second}，毁了一切。": ("positive", "negative"),
        "{first}，而且{second}。": ("negative", "negative"),
    },
    "neutral": {
        "{first}，但是{second}，算是扯平了。": ("positive", "negative"),
        "{first}，不过{second}，有好有坏。": ("negative", "positive"),
        "{first}，{second}。": ("neutral", "neutral"),
    },
}

CLOSINGS = {
    "positive": (
        "下次还会再选。",
        "强烈推荐。",
        "没有什么可抱怨的。",
        "我们选对了。",
        "我会告诉所有的朋友。",
        "几乎不能更好了。",
        "总的来说我非常满意。",
        "每一分钱都花得值。",
    ),
    "negative": (
        "下次不会再选。",
        "无法推荐。",
        "要抱怨的太多了。",
        "我们选错了。",
        "我会提醒所有的朋友别选。",
        "几乎不能更差了。",
        "总的来说我非常不满意。",
        "一分钱都不值。",
    ),
    "neutral": (
        "谈不上推荐，也谈不上反对。",
        "总的来说中规中矩。",
        "比上不足，比下有余。",
        "一分钱一分货。",
        "没有特别的感觉。",
        "有人会喜欢，有人不会。",
        "和想的差不多。",
    ),
}

HEARSAY = (
    "有朋友说这里{strong}。",
    "广告里说得很{strong}。",
    "来之前以为会很{strong}。",
    "{relative}说隔壁那家很{strong}。",
    "上次{month}试的那家很{strong}。",
    "网上有人说{strong}，也有人说{strong}。",
)

FACTS = {
    "any": (
        "那是{month}的一个{day}，天气{weather}。",
        "我是和{relative}一起来的，住了{few}天。",
        "我们是听{relative}说起的。",
        "{relative}拍了{few}张照片。",
        "这是我们第{few}次。",
        "那个{day}{relative}感冒了。",
        "回家的路上我们谈起了{topic}。",
        "前一天我们在{spot}待了{few}个小时。",
        "写这些的时候已经过了{few}天。",
        "外面天气{weather}，街上有人卖{goods}。",
        "之前我们看过{few}条评论。",
        "{relative}一直想谈{topic}。",
        "从{spot}走过来要{few}分钟。",
        "{month}我们还要因为{topic}再来一趟。",
        "在那之前我们在{spot}附近买了{goods}。",
        "坐火车来的话，最好在第{few}站下车，再走过{spot}。",
        "{day}的报纸上有一篇文章谈{topic}，还有一篇谈{spot}。",
        "{relative}和{relative}也在，我们过了{few}点才离开。",
    ),
    "hotel": (
        "我们住了{few}个晚上。",
        "酒店离{spot}走路{few}分钟。",
        "我们的房间在{few}楼。",
        "这里有{few}部电梯和一个酒吧。",
        "我们{day}晚上到，{day}离开。",
        "桌上有水壶和{goods}。",
        "从窗户能看到{spot}。",
        "早餐从{few}点开始。",
    ),
    "film": (
        "我们坐在第{few}排。",
        "电影是{month}在{spot}附近拍的。",
        "故事从一个{day}开始，天气{weather}。",
        "电影院里还有{few}个人。",
        "这是导演的第{few}部电影。",
        "主人公卖{goods}，有{few}个兄弟。",
        "有一场戏谈到了{topic}。",
    ),
    "restaurant": (
        "我们要了一张{few}人的桌子。",
        "餐馆在{spot}旁边。",
        "我们点了{few}道菜。",
        "菜单每个{day}都换。",
        "旁边那桌在谈{topic}。",
        "我们坐在第{few}个窗户旁边。",
        "他们也卖{goods}。",
        "{few}点开门，{day}休息。",
    ),
    "phone": (
        "手机我用了{few}个星期。",
        "我是在一个{day}买的，天气{weather}。",
        "盒子里有{few}根线。",
        "这是我的第{few}部手机。",
        "我用它发消息谈{topic}。",
        "{few}天就送到了，还送了{goods}。",
        "商店在{spot}旁边。",
    ),
}

RULES = {
    "strong": listed("出色, 糟糕, 精彩, 无聊, 漂亮, 混乱, 迷人, 难看"),
    "relative": listed("妹妹, 哥哥, 妻子, 丈夫, 老朋友, 表弟, 邻居, 同事, 姑姑, 女儿"),
    "day": listed("星期一, 星期二, 星期三, 星期四, 星期五, 星期六, 星期天"),
    "month": listed("一月, 二月, 三月, 四月, 五月, 六月, 七月, 八月, 十月, 十一月"),
    "weather": listed("晴朗, 阴沉, 多风, 有雾, 下雨"),
    "few": listed("三, 四, 五, 六, 七, 八, 九, 十"),
    "spot": listed("车站, 港口, 博物馆, 市场, 老桥, 市政府, 公园, 机场, 图书馆, 河边"),
    "topic": listed("工作, 足球, 选举, 假期, 新学校, 往事, 房租"),
    "goods": listed("雨伞, 苹果, 报纸, 玫瑰, 茶叶, 明信片, 蜡烛, 饼干"),
}

CHINESE = ReviewTables(
    aspects=ASPECTS,
    words=WORDS,
    clauses=CLAUSES,
    sentences=SENTENCES,
    contrasts=CONTRASTS,
    closings=CLOSINGS,
    hearsay=HEARSAY,
    facts=FACTS,
    rules=RULES,
    space="",
)

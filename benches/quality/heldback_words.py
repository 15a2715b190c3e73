"""The sentences of the held-back sessions, by language; what a fact needs of its values is in `heldback`."""

RULES = {
    "en": (
        "Nobody touches the {a} schema without {p} signing off.",
        "Please keep {a} out of every log line, that data is under embargo.",
        "You must ask {p} before you restart {a}.",
        "I don't want any new dependencies in {a}.",
        "Commits to {a} are only allowed with a ticket number in the subject.",
        "Whatever happens, the {a} export stays read-only.",
    ),
    "de": (
        "An {a} wird ohne Freigabe von {p} nichts geändert.",
        "Bitte schreib niemals Kundendaten aus {a} in die Logs.",
        "Du musst {p} fragen, bevor du {a} neu startest.",
        "Neue Abhängigkeiten in {a} sind verboten.",
    ),
    "fr": (
        "Ne modifie jamais {a} sans l'accord de {p}.",
        "Il faut toujours prévenir {p} avant de relancer {a}.",
        "Interdiction d'ajouter des dépendances dans {a}.",
        "Je veux que les exports de {a} restent en lecture seule.",
    ),
    "es": (
        "Nunca cambies {a} sin el permiso de {p}.",
        "Hay que avisar siempre a {p} antes de reiniciar {a}.",
        "Está prohibido añadir dependencias en {a}.",
        "No quiero que los datos de {a} aparezcan en los registros.",
    ),
    "ru": (
        "Нельзя менять {a} без согласия {p}.",
        "Всегда предупреждай {p} перед перезапуском {a}.",
        "Запрещено добавлять зависимости в {a}.",
    ),
    "zh": (
        "没有{p}的批准，不得修改{a}。",
        "重启{a}之前必须先通知{p}。",
        "禁止在{a}里添加新的依赖。",
    ),
    "ja": (
        "{p}の承認なしに{a}を変更しないでください。",
        "{a}を再起動する前に必ず{p}に連絡すること。",
        "{a}への依存関係の追加は禁止です。",
    ),
}

PREFERENCES = {
    "en": ("I like my summaries in {s} style.", "When you report back to me, use {s} wording."),
    "de": ("Mir ist lieber, wenn du im Stil {s} antwortest.", "Antworte mir bitte immer im Stil {s}."),
    "fr": ("Je préfère des réponses dans le style {s}.", "Réponds-moi toujours en style {s}."),
    "es": ("Prefiero las respuestas en estilo {s}.", "Contéstame siempre en estilo {s}."),
    "ru": ("Я предпочитаю ответы в стиле {s}.", "Отвечай мне всегда в стиле {s}."),
    "zh": ("我更喜欢{s}风格的回答。", "请始终用{s}风格回复我。"),
    "ja": ("回答は{s}スタイルでお願いします。", "いつも{s}スタイルで答えてください。"),
}

DECISIONS = {
    "en": ("We settled on {d} for {a}.", "OK, decision made: {a} goes to {d}.", "Let's go with {d} for {a}."),
    "de": ("Wir haben uns bei {a} für {d} entschieden.", "Beschlossen: {a} läuft künftig auf {d}."),
    "fr": ("On a décidé de prendre {d} pour {a}.", "C'est décidé : {a} passe sur {d}."),
    "es": ("Hemos decidido usar {d} para {a}.", "Queda acordado: {a} va con {d}."),
    "ru": ("Мы решили взять {d} для {a}.", "Решение принято: {a} переезжает на {d}."),
    "zh": ("我们决定{a}使用{d}。", "已确定：{a}改为{d}。"),
    "ja": ("{a}には{d}を使うことに決めました。", "決定：{a}は{d}にします。"),
}

FACTS = {
    "en": ("{a} listens on {v}.", "The contact for {a} is {p}, at {v}.", "{a} lives at {v}."),
    "de": ("{a} ist unter {v} erreichbar.", "Ansprechpartner für {a} ist {p}, zu finden unter {v}."),
    "fr": ("{a} est accessible sur {v}.", "La personne responsable de {a} est {p}, voir {v}."),
    "es": ("{a} está disponible en {v}.", "La persona responsable de {a} es {p}, en {v}."),
    "ru": ("{a} доступен по адресу {v}.", "За {a} отвечает {p}, см. {v}."),
    "zh": ("{a}的地址是{v}。", "{a}的负责人是{p}，见{v}。"),
    "ja": ("{a}のアドレスは{v}です。", "{a}の担当は{p}、{v}にあります。"),
}

UPDATES = {
    "en": (
        ("The {a} limit is {x}.", "The {a} limit is {y}."),
        ("Timeout of {a} should be {x}.", "Change of plan: timeout of {a} should be {y} instead."),
        ("{a} has a quota of {x}.", "Correction, the quota of {a} is now {y}."),
        ("Set the {a} retention to {x}.", "Set the {a} retention to {y}."),
    ),
    "de": (
        ("Das Limit von {a} ist {x}.", "Das Limit von {a} ist {y}."),
        ("Das Timeout für {a} liegt bei {x}.", "Korrektur: das Timeout für {a} liegt jetzt bei {y}."),
    ),
    "fr": (
        ("La limite de {a} est de {x}.", "La limite de {a} est de {y}."),
        ("Le quota de {a} vaut {x}.", "Finalement le quota de {a} vaut désormais {y}."),
    ),
    "es": (
        ("El límite de {a} es {x}.", "El límite de {a} es {y}."),
        ("La cuota de {a} es de {x}.", "Corrección: ahora la cuota de {a} es de {y}."),
    ),
    "ru": (
        ("Лимит {a} — {x}.", "Лимит {a} — {y}."),
        ("Квота для {a} равна {x}.", "Исправление: квота для {a} теперь равна {y}."),
    ),
    "zh": (("{a}的上限是{x}。", "{a}的上限是{y}。"), ("{a}的配额为{x}。", "更正：{a}的配额现在为{y}。")),
    "ja": (("{a}の上限は{x}です。", "{a}の上限は{y}です。"), ("{a}の割当は{x}。", "訂正：{a}の割当は今後{y}。")),
}

FILLER = {
    "en": (
        ("The colour of the chart", "That meeting", "The old dashboard", "The wiki page", "My train", "The demo"),
        ("looked fine to me", "took longer than expected", "was a bit confusing", "went quite well", "felt odd"),
        ("this morning.", "after lunch.", "when we went through it.", "last week.", "as far as I remember."),
    ),
    "de": (
        ("Die Farbe im Diagramm", "Das Treffen", "Die alte Übersicht", "Die Wiki-Seite", "Mein Zug", "Die Vorführung"),
        ("sah ganz gut aus", "hat länger gedauert", "war etwas verwirrend", "lief recht gut", "wirkte seltsam"),
        ("heute früh.", "nach dem Essen.", "beim Durchgehen.", "letzte Woche.", "soweit ich weiß."),
    ),
    "fr": (
        ("La couleur du graphique", "Cette réunion", "L'ancien tableau", "La page du wiki", "Mon train", "La démo"),
        ("me semblait bien", "a duré longtemps", "était un peu confuse", "s'est bien passée", "paraissait étrange"),
        ("ce matin.", "après le déjeuner.", "quand on l'a regardée.", "la semaine dernière.", "de mémoire."),
    ),
    "es": (
        ("El color del gráfico", "Aquella reunión", "El panel antiguo", "La página de la wiki", "Mi tren", "La demo"),
        ("me pareció bien", "duró más de la cuenta", "era un poco confusa", "salió bastante bien", "resultó rara"),
        ("esta mañana.", "después de comer.", "cuando la miramos.", "la semana pasada.", "si mal no recuerdo."),
    ),
    "ru": (
        ("Цвет графика", "Та встреча", "Старая панель", "Страница в вики", "Мой поезд", "Демонстрация"),
        ("показался мне хорошим", "тянулась долго", "была запутанной", "прошла хорошо", "казалась странной"),
        ("сегодня утром.", "после обеда.", "когда мы смотрели.", "на прошлой неделе.", "насколько помню."),
    ),
    "zh": (
        ("图表的颜色", "那次会议", "旧的仪表板", "维基页面", "我的火车", "演示"),
        ("看起来还可以", "比预期的久", "有点让人困惑", "进行得很顺利", "感觉有些奇怪"),
        ("，今天早上。", "，午饭以后。", "，我们一起看的时候。", "，上个星期。", "，据我回忆。"),
    ),
    "ja": (
        ("グラフの色は", "あの会議は", "古いダッシュボードは", "ウィキのページは", "電車は", "デモは"),
        ("悪くなかった", "思ったより長かった", "少し分かりにくかった", "うまくいった", "変な感じだった"),
        ("と今朝思いました。", "、昼食の後。", "、一緒に見たとき。", "、先週。", "と記憶しています。"),
    ),
}

REPLIES = {
    "en": ("Got it.", "Sure, makes sense.", "I see, thanks for telling me.", "All right, going on."),
    "de": ("Alles klar.", "Verstanden, ich mache weiter.", "Danke für den Hinweis."),
    "fr": ("D'accord.", "Compris, je continue.", "Merci pour la précision."),
    "es": ("Entendido.", "De acuerdo, sigo adelante.", "Gracias por avisar."),
    "ru": ("Понятно.", "Хорошо, продолжаю.", "Спасибо, что сказал."),
    "zh": ("好的。", "明白了，我继续。", "谢谢告知。"),
    "ja": ("了解しました。", "分かりました、続けます。", "教えてくれてありがとう。"),
}

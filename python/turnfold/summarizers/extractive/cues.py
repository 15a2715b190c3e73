"""Words by which a statement is known for a rule, a wish, a decision or an update, in many languages.

Closed lists of function words and of a few verbs, no names of things. A language that is not listed loses only this
one of the features that a statement is weighed by.
"""

from functools import cache
from typing import Final

from turnfold.meter import Statements

_FORBID: Final = (
    # English
    (
        "never|don't|do not|must not|mustn't|may not|can't|cannot|shall not|should not|shouldn't|won't|not allowed|"
        "nobody|"
        "no one|forbidden|prohibited|off[- ]limits|off the table|not permitted|no circumstances|avoid|refrain|keep out|"
        "without|unless|embargo|read-only|non-negotiable|no longer|stop|ban(?:ned)?|restricted|confidential|secret"
    ),
    # German
    "niemals|nie|nicht|kein(?:e|en|em|er)?|darf|dürfen|verboten|untersagt|ohne|vermeide|keinesfalls|auf keinen fall",
    # French
    "jamais|ne pas|n'[a-zé]+ pas|interdit(?:e|s|es)?|interdiction|sans|sauf|aucun(?:e)?|évite[rz]?|ni",
    # Spanish, Portuguese, Italian
    (
        "nunca|jamás|prohibid[oa]s?|no debe|no se|no quiero|sin|ningun[oa]?|evita|proibid[oa]s?|não|sem|nenhum[a]?|mai|"
        "vietat[oa]|senza|nessun[oa]?|non|no hagas"
    ),
    # Dutch, Polish, Swedish
    "nooit|niet|geen|verboden|zonder|nigdy|nie wolno|bez|zakazan[ey]|aldrig|inte|utan|förbjud(?:et|na)",
    # Russian, Ukrainian
    "никогда|нельзя|запрещ(?:ено|ён|ается|ены)|не|без|никому|ніколи|не можна|заборонено",
    # Turkish
    "asla|yasak|olmadan",
)
_FORBID_GLUED: Final = (
    "不要|不得|禁止|严禁|不能|不许|不可|切勿|别|没有.{0,12}(?:批准|同意|许可)|不允许|"
    "ないで|禁止|してはいけ|しては(?:なら|いけ)ない|厳禁|なしに|ません|"
    "마세요|하지 ?마|금지|절대|없이|안 ?됩니다|"
    "لا |ممنوع|أبدا|بدون|मत |नहीं|कभी नहीं|बिना"
)
_OBLIGE: Final = (
    (
        "always|(?<!i )must|(?<!i )have to|has to|(?<!i )needs? to|required?|requirement|only|make sure|ensure|"
        "shall|should|"
        "from now on|for the rest of|before you|whenever|every time|at all times|keep|stay(?:s)?|remain(?:s)?|rule|"
        "constraint|policy|"
        "important|critical|mandatory|deadline|approval|sign(?:ing|s|ed)? off|wait for|whatever happens"
    ),
    "immer|stets|muss|musst|müssen|soll(?:st|te|ten|en)?|nur|ausschließlich|unbedingt|bevor|wichtig|pflicht|bitte",
    "toujours|doit|dois|devez|il faut|faut|uniquement|seulement|obligatoire|avant de|important(?:e)?|impérativement",
    (
        "siempre|debe(?:s|n)?|hay que|tiene(?:s|n)? que|solo|sólo|únicamente|obligatori[oa]|antes de|importante|sempre|"
        "deve(?:s|m)?|tem de|apenas|somente|obrigatóri[oa]|antes|importante|devi|bisogna|soltanto|prima di"
    ),
    "altijd|moet(?:en)?|alleen|verplicht|voordat|zawsze|musi(?:sz)?|tylko|przed|alltid|måste|endast|innan",
    "всегда|должен|должна|должны|нужно|надо|обязательно|только|важно|перед|завжди|повинен|треба|лише",
    "her zaman|mutlaka|zorunlu|sadece|önce",
)
_OBLIGE_GLUED: Final = (
    "必须|务必|一定要|始终|总是|只能|只有|应该|需要先|之前.{0,4}先|"
    "必ず|常に|いつも|のみ|だけに|すること|してください|べき|前に|"
    "반드시|항상|꼭|만 |해야|يجب|دائما|فقط|हमेशा|ज़रूर|केवल"
)
_WISH: Final = (
    (
        "prefer(?:s|red|ence)?|i(?:'d| would) (?:like|rather)|i want|i like|wants?|please|rather than|use|"
        "when(?:ever)? you (?:write|answer|report|reply|give|cite|recommend|finish)|in your (?:replies|answers)"
    ),
    "lieber|bevorzuge|möchte|hätte gern|wünsche|ich will|am liebsten|antworte",
    "préf[èé]re|je veux|je voudrais|j'aimerais|souhaite|réponds|s'il te plaît",
    (
        "prefiero|quiero|quisiera|me gustaría|contesta|contéstame|por favor|"
        "prefiro|quero|gostaria|preferisco|voglio|vorrei"
    ),
    "liever|graag|wolę|chcę|proszę|föredrar|vill ha",
    "предпочитаю|хочу|хотел(?:а)? бы|пожалуйста|отвечай|лучше",
    "tercih|istiyorum|lütfen",
)
_WISH_GLUED: Final = (
    "喜欢|希望|想要|请|最好|お願い|好み|ほしい|欲しい|下さい|ください|원해|선호|해 ?주세요|أفضل|أريد|पसंद|चाहिए"
)
_DECIDE: Final = (
    (
        "decid(?:e|ed|es|ing)|decision|settled?|agreed?|chos(?:e|en)|choose|go(?:ing|es)? (?:with|for)|let's|let us|"
        "we(?:'ll| will| are going to|'re going to)|plan|approach|approved|final|conclu(?:ded|sion)|root cause|"
        "because|turn(?:s|ed) out|found that|fixed|owns?|leads?|owner|responsible|handles?|assigned|in charge|contact|"
        "goal|task|next step|todo|open question|blocked|awaiting|fail(?:s|ed|ing)?|codename|called"
    ),
    (
        "entschieden|beschlossen|einigen|geeinigt|plan|nehmen wir|zuständig|ansprechpartner(?:in)?|verantwortlich|"
        "nächster schritt|ziel|aufgabe|offen|ursache"
    ),
    "décid[ée]{1,2}|convenu|choisi|on prend|plan|responsable|prochaine étape|objectif|tâche|à faire|cause",
    (
        "decidi(?:do|mos)|acordado|elegi(?:do|mos)|vamos con|plan|responsable|próximo paso|objetivo|tarea|pendiente|"
        "decisão|combinado|escolhemos|responsável|deciso|concordato|responsabile"
    ),
    "besloten|afgesproken|verantwoordelijk|zdecydow\\w+|ustalono|odpowiada|beslutat|ansvarig",
    "реш(?:или|ено|ение|ил)|договорились|выбрали|план|отвечает|ответственн\\w+|следующий шаг|цель|задача|причина",
    "karar|sorumlu|plan",
)
_DECIDE_GLUED: Final = (
    "决定|确定|选择|采用|同意|负责|计划|下一步|目标|任务|待办|原因|决议|"
    "決め|決定|採用|合意|担当|計画|次のステップ|目標|課題|原因|"
    "결정|합의|선택|담당|계획|다음 단계|목표|قرر|اتفق|مسؤول|निर्णय|तय"
)
_UPDATE: Final = (
    (
        "now|from now on|instead|actually|update(?:d|s)?|chang(?:e|ed|es|ing)|moved?|moving|no longer|correction|"
        "scratch that|replac(?:e|ed|es)|switch(?:ed|ing)?|supersed\\w+|revis(?:e|ed|ion)|rotated?|new|renamed?|"
        "rebas(?:e|ed)|raised|lowered|increased|reduced|bumped|pivot(?:ing)?|reset|final answer|swap(?:ped)?|forget|"
        "ignore|on second thought|rather|retired|any ?more"
    ),
    "jetzt|ab sofort|stattdessen|korrektur|geändert|nun|nunmehr|künftig|doch|neu(?:e|er|es)?|ersetzt|verschoben",
    "désormais|maintenant|finalement|plutôt|correction|changement|chang[ée]|remplac[ée]|nouveau|nouvelle|dorénavant",
    (
        "ahora|a partir de ahora|en su lugar|mejor|corrección|cambi[oóa]\\w*|nuev[oa]|finalmente|agora|em vez|correção|"
        "nov[oa]|adesso|invece|correzione|nuov[oa]"
    ),
    "nu|voortaan|in plaats|gewijzigd|teraz|od teraz|zamiast|zmiana|hädanefter|istället",
    "теперь|отныне|вместо|исправление|поправка|измен\\w+|нов(?:ый|ая|ое)|замен\\w+|тепер|віднині",
    "artık|bundan sonra|yerine|düzeltme|yeni",
)
_UPDATE_GLUED: Final = (
    "现在|从现在起|改为|更正|改成|变更|更新|不再|代替|"
    "今後|訂正|変更|代わりに|今は|これから|更新|이제|대신|변경|수정|الآن|بدلا|अब|इसके बजाय"
)
_RESET: Final = (
    (
        "scratch|instead|forget|ignore|disregard|never ?mind|reset|pivot|off the table|take (?:that|it) back|"
        "cancel that|"
        "final answer|on second thought"
    ),
    "stattdessen|vergiss|doch lieber|vergessen wir|verwerfen",
    "plutôt|oublie|annule|finalement",
    "en su lugar|olvida|mejor|cancela|esquece|em vez disso|invece|dimentica",
    "вместо|забудь|отмени",
)
_RESET_GLUED: Final = "忘掉|算了|取消|改为|やっぱり|代わりに|取り消|대신|취소"
_ASIDE: Final = (
    "by the way|btw|side note|off[- ]topic|unrelated|tangent|random(?: thought)?|just curious|out of curiosity",
    "übrigens|nebenbei|apropos",
    "au fait|à propos|rien à voir",
    "por cierto|a propósito|aparte",
    "кстати|между прочим",
)
_ASIDE_GLUED: Final = "顺便|对了|题外话|ちなみに|ところで|余談|그런데|참고로"
_STAND: Final = (
    (
        "always|never|for the rest of|from now on|going forward|at all times|every time|whenever|in future|"
        "(?:before|when|after|if|unless|until) (?:you|i)|on my behalf|without my|wait for|"
        "(?:every|each|all|any|your) (?:\\w+ )?(?:repl(?:y|ies)|answers?|responses?|messages?|summar(?:y|ies))|"
        "(?:ask|tell|show|call|address|remind) me|let me|go-ahead|permission|word for word"
    ),
    (
        "immer|nie(?:mals)?|ab jetzt|ab sofort|künftig|jedes mal|(?:bevor|wenn|sobald|falls) (?:du|sie|ich)|"
        "(?:jede|alle|deine|ihre) (?:antwort(?:en)?|nachricht(?:en)?)|frag mich|sag mir|zeig mir|in meinem namen"
    ),
    (
        "toujours|jamais|désormais|dorénavant|chaque fois|(?:avant de|quand tu|quand vous|si tu|si vous)|"
        "(?:chaque|toutes? (?:les|tes|vos)|tes|vos) (?:réponses?|messages?)|demande(?:z)?-moi|montre-moi|en mon nom"
    ),
    (
        "siempre|nunca|jamás|a partir de ahora|de ahora en adelante|cada vez|(?:antes de|cuando|si) (?:me|tú|usted)|"
        "(?:cada|todas? (?:las|tus|sus)|tus|sus) (?:respuestas?|mensajes?)|pregúntame|muéstrame|en mi nombre|sempre|"
        "(?:cada|todas as|suas) respostas?|ogni risposta|ogni volta"
    ),
    (
        "всегда|никогда|отныне|впредь|каждый раз|(?:прежде чем|перед тем как|когда|если) (?:ты|вы|я)|"
        "(?:каждый|каждом|все|своих|твоих|ваших) (?:ответ(?:ах|ы|е)?|сообщени(?:ях|я|е))|спроси меня|спрашивай меня"
    ),
)
_STAND_GLUED: Final = (
    "始终|总是|从不|从现在起|以后|每次|每条|你的(?:回答|回复)|先问我|先让我|"
    "常に|必ず|いつも|今後|毎回|返信では|回答では|私に確認|항상|절대|앞으로|매번|답변(?:은|에)"
)
_BACK: Final = (
    "that|this|it|these|those|both|them",
    "das|dies(?:e|er|es)?|beide",
    "ça|cela|ceci|ce",
    "eso|esto|ambos|isso|isto|questo|quello",
    "это|эти|оба",
)
_BACK_GLUED: Final = ("それ", "これ", "这", "那", "그것", "이것")


LISTS: Final = {
    "forbid": (_FORBID, _FORBID_GLUED),
    "oblige": (_OBLIGE, _OBLIGE_GLUED),
    "wish": (_WISH, _WISH_GLUED),
    "decide": (_DECIDE, _DECIDE_GLUED),
    "update": (_UPDATE, _UPDATE_GLUED),
    "reset": (_RESET, _RESET_GLUED),
    "aside": (_ASIDE, _ASIDE_GLUED),
    "stand": (_STAND, _STAND_GLUED),
}
"""Each list: words with their edges, and words of scripts that put no spaces between them."""


@cache
def kernel() -> Statements:
    """The lists as the kernel runs them."""
    return Statements([("|".join(words), glued) for words, glued in LISTS.values()], "|".join(_BACK), _BACK_GLUED)


def counts(text: str) -> dict[str, int]:
    """How many words of each list `text`, in lower case, holds, none of which overlap."""
    return dict(zip(LISTS, kernel().counts(text), strict=True))

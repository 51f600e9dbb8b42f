"""Words by which a text declines to answer, in several languages."""

from __future__ import annotations

import re

_ENGLISH = (
    # what I cannot, will not or may not do
    r"i (?:\w{4,12} )?(?:can't|cannot|can not|won't|will not|couldn't|shouldn't|should not)"
    r"(?! (?:dis)?agree| help but| imagine| recommend| complain| wait| believe| see (?:why|how|any))",
    r"(?:i am|i'm) (?:really |currently |just )?(?:unable|here to (?:help|be))",
    r"(?:i am|i'm) (?:really |currently |just )?not (?:able|going|comfortable|willing|in a position|designed)",
    r"(?:i am|i'm) (?:really |currently |just )?not (?:programmed|allowed|permitted)",
    r"i (?:do not|don't) (?:\w{4,12} )?(?:have|hold|possess|form|share|make|provide|engage|take|rate|give|offer)",
    r"i (?:do not|don't) (?:\w{4,12} )?(?:express|want|feel comfortable|(?:think|believe) i (?:can|should))",
    r"i (?:have|hold|lack) (?:no|any|the) (?:personal )?(?:opinions?|views?|feelings|beliefs|way|ability)",
    r"i would (?:rather|prefer) not|i'd (?:rather|prefer) not|i prefer not|declin(?:e|ed|ing)|refus(?:e|ed|ing) to",
    r"no comment(?=[.!]?$)|unable to (?:help|assist|answer|provide|rate|comply|respond|determine|judge)",
    r"(?:don't|do not|doesn't|does not|not) (?:allow|permit|enable) me|prevents? me from",
    r"not something i(?:'m| am| can| want)|weigh in|i'll pass|(?:don't|do not|not to) take sides",
    r"(?:remain|stay|be) neutral|be (?:right|appropriate|fair) for me",
    # regrets, and what I am
    r"sorry|apologies|i apologi[sz]e|as an? (?:ai|artificial|language model|large language|assistant|neutral)",
    # what cannot be done at all
    r"(?:it is|it's|it would be|this is|that's|that is) (?:not possible|impossible|difficult|hard|not appropriate"
    r"|inappropriate|not feasible|not something i|challenging|problematic) (?:for me )?(?:to|can|am|'m)",
    r"not (?:possible|appropriate) (?:for me )?to|(?:cannot|can't|can not) (?:provide|answer|assist|comply|help|rate)",
    r"(?:cannot|can't|can not) be (?:determined|answered|rated|judged|assessed|evaluated)",
    r"(?:insufficient|not enough|need more|without (?:more|further|additional)) (?:information|context|data|details)",
    # rules and filters
    r"(?:violates?|against|conflicts? with) (?:\w{2,10} ){0,2}(?:polic(?:y|ies)|guidelines?|programming|principles)",
    r"(?:request|prompt|content|response) (?:was |has been )?(?:blocked|declined|rejected|filtered|flagged)",
)
_OTHERS = (
    "tut mir leid", "ich kann (?:das|dies|dazu|diese|darauf|hier|keine|nicht|ihnen|dir|leider)", "dazu kann ich",
    "ich möchte (?:dazu|das|hierzu)", "als (?:ki|sprachmodell|künstliche)", "das kann ich",
    "kann ich (?:leider )?nicht", "spijt me", "ik kan (?:dit|dat|hier|geen|niet|deze)", "tyvärr", "jag kan inte",
    "lo siento", "lamento", "no puedo", "no me es posible", "no es posible", "como (?:modelo|ia|inteligencia)",
    "prefiero no", "desculpe", "sinto muito", "não posso", "não consigo", "não é possível",
    "como (?:um |uma )?(?:modelo|ia)", "prefiro não", "désolée?", "je ne (?:peux|suis|puis)", "en tant qu'?",
    "je préfère ne pas", "il m'est impossible", "je refuse", "mi dispiace", "spiacente", "non posso",
    "non sono in grado", "non è possibile", "come (?:modello|intelligenza|ia)", "przykro mi", "przepraszam",
    "nie mogę", "nie jestem w stanie", "üzgünüm", "maalesef", "yapamam", "veremem", "yanıtlayamam",
    "değerlendiremem", "maaf", "saya tidak (?:dapat|bisa)", "xin lỗi", "tôi không thể", "извините", "простите",
    "к сожалению", "не могу", "не в состоянии", "отказываюсь",
)  # fmt: skip
_WITHOUT_SPACES = (
    "作为(?:一个|一名)?(?:人工智能|ai|语言模型)", "没有个人", "抱歉", "对不起", "對不起", "很遗憾", "我无法",
    "我無法", "我不能", "无法回答", "无法提供", "申し訳", "ごめんなさい", "できません", "お答えでき", "いたしかね",
    "差し控え", "죄송", "할 수 없", "드릴 수 없", "어렵습니다", "عذرا", "عذرًا", "آسف", "لا أستطيع", "لا يمكن",
    "क्षमा", "माफ़", "माफ", "नहीं कर सकत", "नहीं दे सकत", "असमर्थ", "סליחה", "מצטער", "איני יכול", "ขออภัย",
    "ไม่สามารถ", "λυπάμαι", "δεν μπορώ",
)  # fmt: skip
REFUSAL = re.compile(
    rf"(?<![^\W_])(?:{'|'.join((*_ENGLISH, *_OTHERS))})(?![^\W_])|{'|'.join(_WITHOUT_SPACES)}".replace(" ", r"\s")
)
"""Somewhere in a text, in lower case: it declines."""

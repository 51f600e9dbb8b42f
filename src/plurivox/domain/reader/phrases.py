r"""Words by which a text says that it answers, hedges, rules out or corrects, in several languages.

Nothing here is specific to one data set: each phrase is one that any model may use about any question. All gaps have
limited length, so that no text takes more than linear time. A phrase that comes before an option ends in ``\Z``, the
place of the option; one that comes after it is matched from the option's end. Texts are in lower case.
"""

from __future__ import annotations

import re

MARKS = r"[\s*_\"'(\[{:>#$\\~=→-]"
"""What may come between a phrase and an option."""


def _any(*lists: str) -> str:
    """Return a pattern for any of the phrases, which are separated by bars; a space is any white space."""
    return f"(?:{'|'.join(lists)})".replace(" ", r"\s").replace("ı", "i")


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.MULTILINE)


_WORD, _ENDS = r"(?<![^\W_])", r"(?![^\W_])"

_NOUNS = _any(
    "answer|choice|option|selection|selected|rating|score|label|response|verdict|pick|vote|classification|category",
    "judge?ment|assessment|evaluation|conclusion|grade|decision|one (?:that|which)",
    "antwort|bewertung|wahl|urteil|antwoord|keuze|svar|svaret",
    "respuesta|opción|puntuación|resposta|opção|nota|risposta|scelta|opzione|réponse|choix",
    "ответ|оценка|вариант|выбор|odpowiedź|ocena|cevap|cevabım|yanıt|seçenek|jawaban|đáp án",
    "答案|回答|选择|选项|评分|答え|選択|評価|정답|답변|답|선택|평가|الإجابة|الجواب|الاختيار|التقييم|उत्तर|जवाब|विकल्प",
)
_IS = _any(
    "is|are|was|(?:would|should|must|could|to) be|remains|becomes|'s",
    "ist|lautet|wäre|es|sería|est|serait|é|seria|è|sarebbe",
    "это|является|هي|هو|है|olur|jest|är|er|adalah|là|是|为|應該是|应该是|は|が|은|는",
)
_SMALL_WORDS = _any(
    "most likely|probably|likely|maybe|perhaps|about|around|approximately",
    "roughly|clearly|definitely|simply|just|therefore",
    "thus|then|indeed|actually|still|now|the|an|a|as|at|of|in|for|to|be|is|it's|it|this|that|would|should|must|with",
    "(?:this|the|that) [a-z]{2,20}|perfect|solid|strong|full|clear|firm|weak|low|high",
    "text|item|statement|comment|message",
    "post|response|reply|sentence|conversation|review|one|option|choice",
    "letter|answer",
    "category|label|rating|score|points?|number|level|range|somewhere",
    "que|dass|che|что|ich|wohl|wahrscheinlich|etwa|eher|die|der|das",
    "als|mit|la|el|le|les|o|opción|opção|lettre|buchstabe|вариант",
)
_FILLED = rf"(?:{_SMALL_WORDS}{MARKS}{{1,6}}+){{0,8}}{MARKS}{{0,4}}+\Z"
"""Small words and marks up to the option."""

_AFTER_ALL = _any("therefore|thus|so|hence|overall|in conclusion|in summary|to conclude|finally|ultimately|on balance")
_CHOOSE = _any("choose|pick|select|go with|opt for|rate|answer|say|settle on|lean towards?")
_NOUNS_ALONE = _any("उत्तर|जवाब|الإجابة|الجواب|ответ|cevap|cevabım|yanıt|antwoord|答案|回答|答え|정답")
FINAL = _pattern(
    rf"(?:{_WORD}{_NOUNS}{_ENDS}(?:[^.\n?!;:]{{0,50}}?{_WORD}{_IS}{_ENDS}|[^.\n?!;:]{{0,30}}?[:=]|\s?[*_]{{0,3}}\s?-)"
    rf"|{_NOUNS_ALONE}[^.\n?!;:]{{0,6}}|(?:答案|答え|选择|選択|정답)[^.\n?!;:]{{0,10}}(?:是|为|は|은|는)"
    rf"|{_AFTER_ALL},?\s(?:i(?:'ll|'d|\swill|\swould|\smust|\shave to)?\s){_CHOOSE}"
    rf"|{_any('final answer|on second thought|on balance|in conclusion')}[,:-]?"
    rf"|{_any('change (?:my|the) (?:answer|rating|choice|score) to')})"
    rf"{MARKS}{{0,12}}+{_FILLED}"
)
"""Before an option: it is called the answer."""

_BEST_OF = _any("answer|option|choice|fit|rating|match|category|label|response|score|estimate|description|pick|guess")
_ADJECTIVE = _any(
    "most|more|best|single|final|correct|right|only|closest|likely|probable|appropriate|accurate|fitting|suitable"
)
BEST = _pattern(
    rf"[\s*_\"')\].,:-]{{0,6}}(?:{_any('is|seems|appears|looks|feels|would be|as|being|to be')}\s)?(?:like\s)?"
    rf"(?:(?:the\s)?(?:{_ADJECTIVE}\s){{1,3}}|my\s(?:{_ADJECTIVE}\s){{0,3}}){_BEST_OF}{_ENDS}"
)
"""After an option: it is called the best."""

_REVOKE = _any(
    "no|wait|actually|scratch that|correction|make that|or rather|let me correct (?:myself|that)|sorry|i mean|hmm",
    "on second thought|on reflection",
)
CORRECTED = _pattern(
    rf"(?:{_WORD}{_REVOKE}[\s,:.!-]{{1,4}}){{1,4}}"
    rf"(?:{_any('it is|the answer is|i would say|make it')}\s|(?:it|that|i)'[sd]\s(?:say\s)?)?[\s*_\"'(\[]{{0,4}}\Z"
)
"""Between two options: the second replaces the first."""

_FORCED = _any(
    "forced|pressed|pushed|required|made|asked|anything|so|i (?:had|have|must|am|was|were (?:to|forced|asked|pressed))"
)
HYPOTHETICAL = _pattern(
    rf"{_WORD}(?:{_any('if|unless|had(?! to)|were(?! to)|wenn')}(?!\s{_FORCED}{_ENDS})"
    rf"|{_any('second|other|alternative|next best|runner-up|another|wrong|incorrect|possible')}(?:\sbest)?"
    rf"\s{_any('answer|choice|option|rating|guess|pick')}){_ENDS}(?:(?!\sbut\s)[^.!?\n]){{0,110}}\Z"
)
"""Before an option: it would be the answer in another case, or is second best."""

_HOLD = _any(
    "choos(?:e|ing)|chose|pick(?:ing)?|select(?:ing)?|go(?:ing)? with",
    "opt(?:ing)? for|say|rat(?:e|ing)|estimat(?:e|ing)",
    "guess(?:ing)?|think|believe|feel|lean(?:ing|s)?(?: towards?| to)?",
    "settle on|vote(?: for)?|assign|give|mark|label",
    "classify|judge|call|consider|conclude|answer|respond|suggest|put|score|stick(?:ing)? with|describe|suppose",
    "gets|earns|deserves|receives|merits|land(?:ing)? on|tick",
    "wähle|sage|würde sagen|denke|schätze|tippe auf|elijo|elegiría",
    "diría|creo|choisis|choisirais|dirais|pense|répondrais",
    "réponds|opte pour|escolho|diria|acho|scelgo|direi|penso|выбираю",
    "выберу|думаю|считаю|wybieram|kies|väljer|seçerim|seçiyorum",
)
_LINKS = _any(
    "i|i'm|that said,|that being said,|in my opinion,|to sum up,|nonetheless,",
    "best guess|guess|estimate|leaning|inclined to|tend to",
    "between|range of|extent of|but|so|then|hence",
    "thus|therefore|however,|still,|overall,|ultimately,|nevertheless,",
    "if i had to|ich|je|yo|eu|io|я|würde|estoy|je suis|ich bin|sono",
)
_LOOKS = _any(
    "is|was|seems|appears|looks|would be|feels|sounds|rates|falls (?:under|into|in|within)",
    "is likely to (?:be|fall (?:under|into|in|within))",
)
_HEDGES = _any(
    "probably|maybe|perhaps|possibly|likely|most likely|hmm|well|sure|ok|okay|alright|yes|right|tough one",
    r"roughly|around|about|approximately|\w{4,14}ly|i think|i guess|i believe|i'd say|my guess",
    "wahrscheinlich|vermutlich|vielleicht|probablemente|quizás|probablement",
    "peut-être|provavelmente|talvez|probabilmente|forse",
    "может быть|наверное|可能|也许|大概|たぶん|아마",
)
_IF_FORCED = _any(
    r"if (?:i )?(?:had|have|must|was|were|am|forced|pressed|pushed|required|made)",
    r"forced to choose|müsste ich|wenn ich",
    "si tuviera|s'il fallait|si je devais|se tivesse|se dovessi|если бы|如果",
)
SAID = _pattern(
    rf"(?:{_WORD}{_HOLD}{_ENDS}|我选择|我選擇|我选|我会选|我認為|我认为|我觉得|我|应该是|أختار|أعتقد"
    rf"|{_WORD}(?:(?:the|this|that)\s\w{{2,20}}|it|this|that|which|these|they)(?:'s|\s{_LOOKS}){_ENDS}"
    rf"|{_WORD}{_LINKS}(?![^\W_])|[:;](?=[\s*_])|~|{_IF_FORCED}[^.\n?!;:]{{0,40}}[,:]"
    rf"|(?:^|[.!?]\s)(?:{_HEDGES}[\s,:.!-]{{1,4}}){{1,4}})"
    rf"{MARKS}{{0,8}}+{_FILLED}"
)
"""Right before an option: somebody holds it."""

SPOKEN_OF = _pattern(
    rf"{_WORD}(?:i(?:'d|'ll|\swould|\swill|\scan)?|we)\s(?:\w{{2,10}}\s)?"
    rf"{_any('choose|pick|select|go with|say|rate|estimate|guess|think|believe|lean|answer|judge|put|place|argue')}"
    rf"{_ENDS}[^.\n?!;]{{0,80}}\Z"
)
"""Some words before an option that is unambiguous: an opinion that holds it."""

_FITS = _any("it is|then|for me|for this|fits|fits best|works|stands|comes closest|is closest|is best")
_GOOD = _any("(?:most |about |about as )?(?:right|best|fair|apt|appropriate|good|likely|fitting)")
_I_THINK = _any("i guess|i think|i suppose|i would say|i believe")
AFFIRMED = _pattern(
    rf"[*_\"')\]]{{0,4}}(?:(?:\s{_FITS}|,?\s{_I_THINK})(?=\s?(?:[.,;!\n]|$))"
    rf"|\s{_any('seems|sounds|feels|looks')}\s{_GOOD}{_ENDS}"
    rf"|\s{_any('wählen|nehmen|sagen|geben|vergeben')}{_ENDS}|\w{{0,2}}\s?(?:선택|고르|を選|だと思|と思))"
)
"""After an option: it is affirmed."""

CONFIDENCE = _pattern(rf"{_WORD}(?:confiden(?:t|ce)|certainty|probability|alternative)[^.!?\n;,]{{0,20}}\Z")
"""Before a number or option: it says how sure the answer is, or what else it might have been."""

_NOT = _any(
    "not|never|cannot|can't|neither|nor|isn't|wasn't|aren't|won't|wouldn't",
    "don't|doesn't|shouldn't|couldn't|rather than",
    "instead of|except|unlikely|rules? out|ruled out|excluding|exclude",
    "rejects?|rejected|unable|refuse|decline|no longer",
    "none of|anything but|prevents?|far from|less likely|incorrect",
    "wrong|against|nicht|kein|keine|statt|no es|en vez de|pas|não",
    "non|не|nie|niet|değil",
)
RULED_OUT_BEFORE = _pattern(rf"(?:{_WORD}{_NOT}{_ENDS}|不是|并非|不选|不會|ではな|ليس)[^.\n?!;:]{{0,40}}\Z")
_TOO_MUCH = _any(
    "not|wrong|incorrect|too|unlikely|out|ruled|off|excluded|false|inaccurate|less|far",
    r"an? (?:over|under|exag)\w{1,12}",
)
RULED_OUT_AFTER = _pattern(
    rf"[\s*_\"')\]]{{0,4}}(?:{_any('is|are|was|would be|seems|feels|looks|sounds')}"
    rf"\s(?:\w{{3,10}}\s)?{_TOO_MUCH}{_ENDS}"
    r"|isn't|wouldn't|doesn't|can't|\((?:no|not|wrong|incorrect|too))"
)
_BUT = _any("but|however|so|yet|instead|although|though|rather(?! than)|sondern|sino|mais|ma")
CLAUSE = _pattern(rf"[.!?;:\n]|\s-\s|,?(?<!anything)\s{_BUT}\s|,\s|而是")
"""Where what was ruled out before no longer is."""

JOINED = _pattern(
    r"[\s*_\"')\].%]{0,6}(?:,(?=[\s*_\"'(\[]{0,4}(?:(?:or|and)\s|\Z))|/|(?<=\S)-(?=\S)|&|或|または|또는"
    rf"|{_WORD}{_any('and/or|or|and|to|nor|vs|oder|ou|o|y|или')}{_ENDS}\.?)"
    r"[\s*_\"'(\[]{0,6}(?:(?:or|and|maybe|perhaps|even|possibly|options?|an?)\s){0,3}[\s*_\"'(\[]{0,4}\Z"
)
"""Between two options: one or the other."""

GOES_ON = _pattern(
    r"\s?(?:$|[.,;:!?()\]}*_\"'\n|/=-]|[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]"
    rf"|{_any('because|since|as|due|given|with|that|for|overall|here|based|considering|out of|stars?|points?')}{_ENDS}"
    rf"|{_any('weil|da|denn|porque|parce|perché|потому')}{_ENDS}|şik|है|seçeneği)"
)
"""After a word or letter that would mean something else if the sentence continued differently."""


# Refusals -------------------------------------------------------------------------------------------------------------
#
# Words by which a text declines to answer, in several languages.


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

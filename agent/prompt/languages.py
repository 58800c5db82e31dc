"""Words of orders, questions and bans in the languages other than English that prompts are read in.

Each is a table of patterns, so that a language is added as data. A common wording that is missing makes a prompt
unclear, never an order.
"""

from __future__ import annotations

import re
from collections.abc import Set
from functools import cache

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily


@dataclass(frozen=True, kw_only=True)
class Language:
    """Patterns of one language; all are searched in one clause, and ignore case.

    marks: words by which a text is recognised as one of it, where it is not by its script
    polite: what may precede an order
    asks: the clause wants an answer; tail: it asks for one, or for work in a polite form
    request: forms of a question that order something, "can you …"
    repair, change, task: orders; passing: tests are to pass; product: what is written as an answer, and in no file
    code: what is repaired; texts: what only a model can correct
    ban: a change is forbidden; everything: whatever it is of; rest: nothing but what is named elsewhere
    tests: tests as the object of a ban; filler: words that say nothing of the object
    only: changes are allowed of nothing but the paths beside it
    """

    name: str
    marks: str
    polite: str
    asks: str
    tail: str
    request: str
    repair: str
    change: str
    task: str
    passing: str
    product: str
    texts: str
    ban: str
    everything: str
    rest: str
    tests: str
    filler: str
    only: str

    def search(self, pattern: str, text: str) -> re.Match[str] | None:
        """Return the first match of a named pattern."""
        return self.compile(pattern).search(text)

    def compile(self, pattern: str) -> re.Pattern[str]:
        """Return a named pattern; only those that a prompt needs are compiled."""
        return _compile(getattr(self, pattern))

    @property
    def has_words(self) -> bool:
        """Whether it is written with spaces between words."""
        return bool(self.marks)


@cache
def _compile(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


GERMAN = Language(
    name="German",
    marks="der die das den dem und nicht ist ein eine einen bitte mit für auf warum wieso weshalb wie "
    "welche welcher welches wo wer kein keine keinen ohne mir im zu nur mach mache sorge dass damit "
    "füge ändere behebe benenne lösche nichts kannst könntest erkläre erklär zeige zeig schreib "
    "schreibe erstelle repariere reparier reparieren korrigiere korrigieren hinzu fehler datei "
    "dateien lass fass noch aber implementiere ersetze installiere entferne welchen dabei auch nie "
    "niemals übersetze ins aus mein meine meinen committe checke führe starte sortiere",
    polite=r"(?:(?:bitte|mal|jetzt|dann|zuerst|erst|danach|anschließend|hallo|hi|ok|okay|so|du sollst"
    r"|wir müssen|ich möchte,? dass du"
    r"|ich will,? dass du|(?:kannst|könntest|würdest|kannst|magst) du(?: bitte| mal)*)\b[\s,]*)+",
    asks=r"^(?:(?:mir|uns)\s+)?(?:warum|wieso|weshalb|welche[rsnm]?|wo|wie|wer|wann|was|wozu|woran|erklär\w*"
    r"|beschreib\w*|zeig\w*"
    r"|nenn\w*|sag\w* (?:mir|uns)|liste?\b.*\bauf|liste|fass\w*\b.*\bzusammen|analysier\w*|ist|sind|läuft"
    r"|laufen|gibt es|hat|haben"
    r"|wird|werden|kann|muss|prüfe,? ob|schau\w*,? ob)\b|\b(?:erklären|sagen|zeigen|beschreiben|nennen"
    r"|auflisten|zusammenfassen)$",
    tail=r"(?!)",
    request=r"^(?:kannst|könntest|würdest|magst) du\b",
    repair=r"^(?:reparier\w*|behebe?n?|korrigier\w*|fixe?n?|flick\w*|löse?)\b|\b(?:reparieren|beheben"
    r"|korrigieren|fixen|flicken)$"
    r"|^bring\w*\b.*\bin ordnung$",
    change=r"^(?:füge?\b|ergänze?|erstell\w*|schreibe?|lösche?|entfern\w*|benenn\w*|ändere?|aktualisier\w*"
    r"|implementier\w*"
    r"|ersetze?|verschieb\w*|refaktorier\w*|refactore?"
    r"|baue?(?!\s+(?:es|(?:das|dieses|mein|unser) (?:projekt|paket|programm))\b)"
    r"|mach\w*(?!\s+(?:weiter|schluss|halt|pause|dir|mir)\b)|passe? .+ an|erweiter\w*|übersetze?"
    r"|dokumentier\w*|setze?(?!\s+dich\b)"
    r"|lass\b.*\b(?:zurückgeben|werfen|liefern)"
    r"|(?:verwende|nutze|benutze)(?!\s+(?:git|grep|rg|einfache|kurze|deine?|die suche)\b)|extrahier\w*|vereinfach\w*"
    r"|optimier\w*|lege?\b.*\ban"
    r"|stelle?\b.*\bum|teile?\b.*\bauf|sorge? dafür|stelle? sicher|gib\b.*\bzurück|bearbeite?"
    r"|modifizier\w*)\b"
    r"|\b(?:hinzufügen|ergänzen|erstellen|löschen|entfernen|umbenennen|ändern|aktualisieren|implementieren"
    r"|ersetzen"
    r"|verschieben|umschreiben|anpassen|erweitern|einbauen|einfügen|schreiben|umbauen|refaktorieren"
    r"|übersetzen|zurückgibt)$",
    task=r"^(?:committ?e?\w*|pushe?|installier\w*|starte?|führ\w*\b.*\baus|deploy\w*"
    r"|erstell\w* (?:einen )?(?:commit|branch|pull request|tag))\b"
    r"|\b(?:committen|pushen|installieren|ausführen|einchecken)$",
    passing=r"\b(?:mach\w*|bring\w*|sorge?|stelle? sicher|damit|sodass|so dass)\b.*\b(?:tests?|test_\w+"
    r"|suite|build|ci)\b.*"
    r"\b(?:grün|laufen|durchlaufen|läuft|bestehen|besteht|durchläuft)\b|\btests?\b.*\bzum laufen (?:bringen"
    r"|zu bringen)$",
    product=r"\b(?:zusammenfassung|überblick|liste|erklärung|bericht|plan|gedicht|beschreibung|übersicht"
    r"|antwort|vorschlag|vorschläge)\b",
    texts=r"\b(?:tippfehler|rechtschreib\w*|formatierung|doku\w*|kommentare?\w*|readme|changelog|konflikt\w*"
    r"|stil)\b",
    ban=r"\b(?:ändere?|verändere?|bearbeite?|editiere?|modifizier\w*|schreibe?|fass(?:e|t)?|rühre?|berühre?"
    r"|reparier\w*|korrigier\w*"
    r"|überschreibe?|behebe?)\b(?P<inner1>[^,;!?\n]*?\b(?:nicht|nichts|keine[nrms]?|nie"
    r"|niemals))\b(?:\s+(?:an|um)\b)?"
    r"|\b(?:nicht|nichts|keine[nrms]?|nie|niemals)\b(?P<final1>[^,;!?\n]*?)\b(?:ge)?(?:ändern|ändert"
    r"|verändern|verändert|bearbeiten"
    r"|editieren|modifizieren|schreiben|anfassen|anrühren|angefasst|berühren|reparieren|korrigieren"
    r"|überschreiben|beheben)\b"
    r"|\bohne\b(?P<closed1>[^,;!?\n]*?)\bzu (?:ändern|verändern|bearbeiten|editieren|modifizieren|schreiben"
    r"|berühren|reparieren)\b"
    r"|\bohne\b(?P<closed2>[^,;!?\n]*?)\banzufassen\b|\b(?:ohne|keine) (?:code-?|datei)?(?:änderung"
    r"|anpassung)(?:en)?\b"
    r"|\blass\w*\b(?P<closed3>[^,;!?\n]*?)\b(?:in ruhe|unverändert|unangetastet|wie (?:sie|es|er) (?:ist"
    r"|sind))\b|\bfinger weg von\b"
    r"|(?P<passive>\b(?:bleibt|bleiben|soll|sollen|muss|müssen)\b[^,;!?\n]*?\b(?:unverändert"
    r"|unangetastet)(?: bleiben)?\b)",
    everything=r"(?:etwas|irgendetwas|irgendwas|was|alles|datei(?:en)?|code|quellcode|daran|es|sie|ihn"
    r"|änderung(?:en)?|projekt|repo\w*|dran)",
    rest=r"\b(?:sonst|andere[nrms]?|weitere[nrms]?|außer|übrige[nrs]?|wenn|falls|es sei denn|solange)\b",
    tests=r"\b(?:tests?|testdateien|testdatei|testfälle)\b",
    filler=r"\b(?:bitte|mir|uns|nur|noch|jetzt|erst|mal|dabei|aber|auch|die|den|das|der|dem|des|an|am|im|in"
    r"|eine[nrms]?|irgendeine[nrms]?"
    r"|keine[nrms]?|nicht|nichts|einzige[nrs]?|dir|davon|hier|überhaupt|von|vorerst|soll\w*|darf\w*|du|wird"
    r"|werden|zu|diese[nrs]?)\b",
    only=r"\b(?:ändere?|bearbeite?|fass\w*) (?:bitte )?(?:nur|ausschließlich|lediglich)\b"
    r"|\b(?:nur|ausschließlich|lediglich)\b[^,;!?\n]*?\b(?:ändern|bearbeiten|anfassen|geändert)\b"
    r"|\bnichts(?: anderes)? (?:außer|als)\b",
)

FRENCH = Language(
    name="French",
    marks="le la les une un des du et est pas dans pour que qui quoi pourquoi quel quels quelle quelles "
    "où ne sans avec ajoute ajoutez ajouter corrige corrigez corriger répare réparez renomme "
    "renommez supprime supprimez modifie modifiez fais faites aucun aucune fichier fichiers explique "
    "expliquez écris écrivez crée créez peux pouvez dis seulement rien mets remplace fonction erreur "
    "erreurs implémente installe mes ma mon mais commite commitez trie lance aux",
    polite=r"(?:(?:s'il (?:te|vous) pla[iî]t|stp|svp|bonjour|d'abord|ensuite|maintenant|alors|puis|merci de"
    r"|tu dois|il faut|je veux que tu"
    r"|je voudrais que tu|(?:peux|pourrais)-tu|(?:pouvez|pourriez)-vous|est-ce que tu peux|tu peux"
    r"|vous pouvez|veuillez)\b[\s,]*)+",
    asks=r"^(?:(?:me|nous|m')\s*)?(?:pourquoi|qu'est-ce|que\b(?! les? tests)|quels?|quelles?|où|comment|qui"
    r"|quand|combien|expliqu\w+|décri\w+|montr\w+"
    r"|dis-(?:moi|nous)|dire|liste[rz]?|résume[rz]?|analyse[rz]?|indique[rz]?|est-ce|y a-t-il|à quoi"
    r"|vérifie si|donne-moi)\b",
    tail=r"(?!)",
    request=r"^(?:(?:peux|pourrais)-tu|(?:pouvez|pourriez)-vous|est-ce que tu peux|tu peux|vous pouvez)\b",
    repair=r"^(?:corrig(?:e|ez|er)|répar(?:e|ez|er)|résou(?:s|dre|dez)|débogue[rz]?)\b",
    change=r"^(?:ajout(?:e|ez|er)|cré(?:e|ez|er)|écri(?:s|re|vez)|supprim(?:e|ez|er)|renomm(?:e|ez|er)"
    r"|modifi(?:e|ez|er)|chang(?:e|ez|er)"
    r"|remplac(?:e|ez|er)|implément(?:e|ez|er)|déplac(?:e|ez|er)|met(?:s|tez|tre) à jour|refactoris\w+"
    r"|refactor\w*|tradui(?:s|re|sez)"
    r"|documente[rz]?|enlève[rz]?|retire[rz]?|fai(?:s|tes|re) (?:en sorte|que)|assure-toi|rends?"
    r"|utilise[rz]?(?!\s+(?:git|grep|rg|des mots)\b)|insère[rz]?|optimise[rz]?|formate[rz]?"
    r"|extrai(?:s|re)|simplifie[rz]?|adapte[rz]?|étends|fai(?:s|tes|re) (?:retourner|renvoyer))\b",
    task=r"^(?:commit\w*|pousse[rz]?|install(?:e|ez|er)|lance[rz]?|exécute[rz]?|déploie|fai(?:s|tes"
    r"|re) (?:un )?commit)\b",
    passing=r"\bfa(?:is|ites|ire)\b.*\bpasser\b.*\b(?:tests?|test_\w+|suite)\b"
    r"|\b(?:que|pour que|afin que)\b.*\b(?:tests?|test_\w+|suite)\b.*\b(?:passent?|réussissent"
    r"|soient verts?)\b",
    product=r"\b(?:résumé|liste|explication|rapport|plan|poème|description|aperçu|réponse)\b",
    texts=r"\b(?:faute de frappe|fautes|orthographe|formatage|documentation|commentaires?|readme|changelog"
    r"|conflits?|style)\b",
    ban=r"(?:(?<![a-zé)] )|(?<=mais )|(?<=\bet )|(?<=surtout )|(?<=pla[iî]t )|(?<=stp )|(?<=svp ))\b"
    r"(?:ne|n')\s*(?:\w+ )?(?:changez?|modifiez?|touchez?|éditez?|corrigez?|écri(?:s|vez)"
    r"|réparez?)\b(?:\s+(?:pas|rien|jamais|plus))?(?:\s+à\b)?"
    r"|\bne (?:pas|rien|jamais)(?: rien)? (?:changer|modifier|toucher|éditer|corriger|écrire"
    r"|réparer)(?:\s+à\b)?"
    r"|\bsans\b(?P<inner1>[^,;!?\n]{0,12}?)\b(?:changer|modifier|toucher|éditer|écrire|corriger"
    r"|réparer)(?:\s+à\b)?"
    r"|\b(?:aucune|pas de|sans) (?:modification|changement)s?\b|\baucun changement\b"
    r"|\blaisse[rz]?\b(?P<closed1>[^,;!?\n]*?)\b(?:intacte?s?|tels? quels?|telles? quelles?|inchangée?s?"
    r"|tranquilles?)(?!\w)",
    everything=r"(?:rien|quoi que ce soit|fichiers?|code|tout|modifications?|changements?|projet|dépôt)",
    rest=r"\b(?:autres?|sauf|hormis|sinon|si|d'autre|excepté|à part|reste)\b",
    tests=r"\b(?:tests?)\b",
    filler=r"\b(?:le|la|les|l|de|du|des|un|une|aucun|aucune|pas|rien|jamais|à|au|aux|moi|juste|s'il (?:te"
    r"|vous) pla[iî]t|encore|pour l'instant"
    r"|d|mais|et|ce|ces|cette|dans|au|y|seul|surtout|simplement|mon|ton|source)\b'?",
    only=r"\b(?:modifi(?:e|ez|er)|chang(?:e|ez|er)|touch(?:e|ez|er)) (?:seulement|uniquement|que)\b"
    r"|\bne (?:modifie|change|touche)z? que\b"
    r"|\brien d'autre que\b",
)

SPANISH = Language(
    name="Spanish",
    marks="el la los las una un unos y es en que qué por para sin con cómo dónde cuál cuáles quién añade "
    "agrega arregla corrige renombra elimina borra cambia cambies modifiques toques edites haz "
    "puedes podrías explica explícame dime muestra muéstrame archivo archivos fichero ficheros nada "
    "ningún prueba pruebas función solo sólo crea escribe falla fallan código reemplaza del "
    "implementa instala pero mis mi confirma ordena ejecuta lee",
    polite=r"(?:[¿¡]?\s*(?:por favor|hola|primero|luego|ahora|después|entonces|debes|tienes que|hay que"
    r"|quiero que|necesito que|me gustaría que"
    r"|(?:puedes|podrías|puede|podría)(?: tú)?|te pido que)\b[\s,]*)+",
    asks=r"^[¿¡]?\s*(?:(?:me|nos)\s+)?(?:por qué|porqué|qué|que\b(?! (?:los|las) )|dónde|donde|cuál(?:es)?"
    r"|cómo|como|quién(?:es)?|cuándo|cuánt\w+"
    r"|expl[ií]ca\w*|explicar\w*|describe|muestra|muéstra\w*|mostrar\w*|dime|decir\w*|lista\b|enumera|resume"
    r"|analiza|indica|hay|es|está|están)\b"
    r"|^[¿¡]?\s*(?:los|las|el|la) .*\?$",
    tail=r"(?!)",
    request=r"^[¿¡]?\s*(?:puedes|podrías|puede|podría)\b",
    repair=r"^(?:arregl|repar|corrig|corrij)(?:a|e|ar|ir|as|es)(?:lo|la|los|las)?\b|^(?:corregir"
    r"|solucion(?:a|ar|es)|resuelve|resolver)\b",
    change=r"^(?:añad(?:e|ir|as)|agreg(?:a|ar|ues)|cre(?:a|ar|es)|escrib(?:e|ir|as)|elimin(?:a|ar|es)"
    r"|borr(?:a|ar|es)|renombr(?:a|ar|es)"
    r"|cambi(?:a|ar|es)|modific(?:a|ar)|modifiques|reemplaz(?:a|ar)|reemplaces|sustitu(?:ye|ir)"
    r"|implement(?:a|ar|es)|muev(?:e|as)|mover"
    r"|actualiz(?:a|ar)|refactoriz(?:a|ar)|traduc(?:e|ir)|documenta|quita|haz que"
    r"|(?:usa|utiliza)(?!\s+(?:git|grep|rg|palabras)\b)|inserta"
    r"|optimiza|extrae|simplifica|adapta"
    r"|pon|formatea|convierte|asegúrate)\b",
    task=r"^(?:ha(?:z|cer) (?:un )?commit|commit\w*|confirma los cambios|sube|instala|ejecuta|corre|lanza"
    r"|despliega)\b",
    passing=r"\b(?:haz|haga|hacer|logra|consigue|asegúrate|para)\b.*\bque\b.*\b(?:tests?|test_\w+|pruebas?"
    r"|suite)\b.*\bpas\w+"
    r"|\bhaz que\b.*\bpas\w+\b.*\b(?:tests?|pruebas?)\b|\bhaz pasar\b.*\b(?:tests?|pruebas?)\b",
    product=r"\b(?:resumen|lista|explicación|informe|plan|poema|descripción|respuesta)\b",
    texts=r"\b(?:errata\w*|ortografía|formato|documentación|comentarios?|readme|changelog|conflictos?"
    r"|estilo)\b",
    ban=r"\b(?:no|nunca|jamás)\s+(?:me |lo |la |los |las )?(?:cambies?|modifiques?|toques?|edites?|arregles?"
    r"|escribas?|corrijas?|repares?"
    r"|cambiar|modificar|tocar|editar|escribir|arreglar)\b"
    r"|\bsin\b(?P<inner1>[^,;!?\n]{0,12}?)\b(?:cambiar|modificar|tocar|editar|escribir|arreglar)\b"
    r"|\b(?:ningún cambio|sin (?:ningún )?cambios?|ninguna modificación|no hagas (?:ningún )?cambios?)\b"
    r"|\bdeja\b(?P<closed1>[^,;!?\n]*?)\b(?:intact[oa]s?|como est[aá]n?|sin cambios|en paz)(?!\w)",
    everything=r"(?:nada|archivos?|ficheros?|código|todo|cambios?|proyecto|repositorio)",
    rest=r"\b(?:otr[oa]s?|más|salvo|excepto|menos|si|demás|a menos)\b",
    tests=r"\b(?:tests?|pruebas?)\b",
    filler=r"\b(?:el|la|los|las|de|del|un|una|ningún|ninguna|ningunos?|no|nada|por favor|solo|sólo|aún"
    r"|todavía|en|a|al|pero|y|mi|tu|este|esta"
    r"|estos|fuente|que|hay|alguno?|simplemente)\b",
    only=r"\b(?:cambia|modifica|toca|edita) (?:solo|sólo|solamente|únicamente)\b"
    r"|\b(?:solo|sólo|solamente|únicamente) (?:cambia|modifica|toca|edita)\b|\bno (?:cambies|modifiques"
    r"|toques) nada (?:más )?(?:que|excepto|salvo)\b",
)

_ZH_CHANGE = (
    r"(?:添加|新增|增加|加上|加入|加(?:一|个|几|些)|创建|新建|编写|写(?:一个|个|一些|入)|实现|重构|格式化|重命名"
    r"|改名|删除|移除|删掉|去掉|更新|修改|更改|改成|改为|改动"
    r"|替换|移动|优化|升级|翻译|补充|拆分|合并|引入|封装|支持)"
)
_ZH_ASKS = (
    r"(?:为什么|为何|怎么|怎样|如何|什么|哪|谁|是否|多少|几个|是不是|有没有|解释|说明(?!书)|告诉我|介绍|描述"
    r"|列出|查看|看看|看一下|分析"
    r"|总结|讲讲|讲解)"
)
_ZH_POLITE = (
    r"(?:请你?|麻烦你?|帮我|帮忙|你?(?:能不能|可不可以|可以|能|可否|能否)|我?(?:想要?|希望|需要)你?"
    r"|先|再|然后|并且?|接着|你|我们|给我|直接|立即|马上)*"
)

CHINESE = Language(
    name="Chinese",
    marks="",
    polite=_ZH_POLITE,
    asks=_ZH_ASKS,
    tail=r"(?:吗|呢|么)[?？]?$",
    request=r"^(?:请|麻烦)?你?(?:能不能|可不可以|可以|能|可否|能否)(?:请)?(?:你)?(?:帮我|帮忙)?(?!.*(?:解释"
    r"|说明|告诉|介绍|描述|列出))",
    repair=rf"^{_ZH_POLITE}(?:(?:把|将|对|给).{{1,40}})?(?:修复|修正|修好|修一?下|解决|改好|纠正|改正"
    rf"|调试并修复)(?!后|了|的|时|完)",
    change=rf"^{_ZH_POLITE}(?:(?:把|将|给|在|为|对|从).{{1,60}})?{_ZH_CHANGE}(?!后|了|的|时|失败|完)"
    rf"|^{_ZH_POLITE}(?:让|使|令).{{1,40}}(?:返回|抛出|支持|变成)"
    r"|^(?:把|将).{1,60}(?:改|换|移|设|变|放)",
    task=rf"^{_ZH_POLITE}(?:(?:把|将).{{1,30}}?(?=提交|推送))?(?:提交(?!后|了|的)|推送|安装|运行|执行|部署|发布)",
    passing=r"(?:让|使|确保|保证|直到).*(?:测试|用例|test\w*).*(?:通过|变绿|成功)",
    product=r"(?:总结|摘要|列表|清单|报告|计划|说明|解释|诗|概述|方案)",
    texts=r"(?:错别字|拼写|格式|文档|注释|冲突|README)",
    ban=r"(?:不要|别|请勿|切勿|勿|不得|不能|禁止|不准|不许|不可以?|无需|不必|不用|先不|不)(?:再|去|擅自|对"
    r"|做|进行|直接|要)*(?P<inner1>[^，。；！？,;!?]{0,14}?)"
    r"(?:修改|改动|更改|改变|变更|编辑|改(?!进|善)|动(?!态)|触碰|碰|写入|修复|做任何改动)"
    r"|保持(?P<closed1>[^，。；！？,;!?]*?)不变|(?:没有|不做|不作)(?:任何)?(?:修改|更改|改动|变更)",
    everything=r"(?:任何|文件|代码|东西|内容|一切|所有|它|它们|修改|更改|改动|源代码|源码|项目|仓库)",
    rest=r"(?:其他|其它|别的|除|以外|之外|如果|除非|其余)",
    tests=r"(?:测试|用例)",
    filler=r"(?:请你?|了|的|也|都|但是?|只是?|就|我|地|里|中|掉|一下|现在|暂时|目前|做|进行|对|把|将|去|不要"
    r"|任|何|个|原有|现有|文件|代码|并且?|而|且|你|先|本|这些?|那些?)",
    only=r"(?:只|仅)(?:能|可以|允许|需|要)?(?:修改|更改|改动|编辑|改|动)|(?:修改|更改|编辑)(?:只|仅)限",
)

_JA_END = (
    r"(?:(?:して|せて|って|いて|んで|えて|して|けて|めて|きて|れて|して|て)(?:から|ほしい|欲しい|ください"
    r"|下さい|くれ\w*|もらえ\w*|いただけ\w*|頂け\w*|おいて\w*|みて|ね|よ)?"
    r"|せよ|しろ|をお願い\w*|お願い\w*|する(?:こと)?|します|したい|し)\s*$"
)

JAPANESE = Language(
    name="Japanese",
    marks="",
    polite=r"(?:まず|次に|それから|そして|では|じゃあ|すみません|お願いします|今すぐ)*",
    asks=r"(?:なぜ|なんで|どうして|何(?!も|か)|どこ|どの|どう|誰|いつ|いくつ|説明|教え|見せ|示し|一覧"
    r"|まとめて|分析|解説|のか|かどうか|確認し)",
    tail=r"(?:ですか|ますか|か)[?？]?$",
    request=r"(?:くれますか|くれませんか|もらえますか|もらえませんか|いただけますか|いただけませんか"
    r"|できますか|頂けますか)$",
    repair=rf"(?:修正|修復|直|修理|解決|デバッグ|治).{{0,6}}?{_JA_END}",
    change=rf"(?:追加|作成|実装|整形|変更|削除|リネーム|改名|書き換え|書き直|更新|置き換え|置換|移動"
    rf"|リファクタ\w*|最適化|翻訳|書|作|消|加|変|分割|抽出|導入|名前.*変え"
    rf"|返すように|返るように|対応|整理).{{0,8}}?{_JA_END}|(?:返す|なる|投げる)ように.{{0,6}}$",
    task=rf"(?:コミット|プッシュ|インストール|実行|デプロイ|走らせ).{{0,4}}?{_JA_END}",
    passing=r"(?:テスト|test\w*).*(?:通|パス|成功|グリーン|合格).*(?:よう|して|せて|まで)|(?:テスト"
    r"|test\w*)を(?:通し|パスさせ|成功させ)",
    product=r"(?:要約|一覧|リスト|レポート|計画|説明|詩|概要)",
    texts=r"(?:誤字|タイポ|綴り|書式|ドキュメント|コメント|コンフリクト|競合|README)",
    ban=r"(?:変更|編集|修正|改変|更新|書き換え|書き込|書か|直さ|触ら|触れ|いじら|変え|手を加え|手をつけ"
    r"|改め)(?:を加え|を|し|み|さ)?(?:ない|ずに|るな|すな|するな|しない|てはいけ\w*|ては?(?:いけ|なら)\w*"
    r"|不要|禁止|なし)"
    r"|(?:変更|編集|修正)(?:は|を|も)?(?:一切)?(?:加えない|加えず|行わない|行わず|不要|禁止|なし|しない|せず"
    r"|しな|いらない|するな)|そのまま(?:に|で)|(?:変更|編集|修正)せずに?",
    everything=r"(?:ファイル|コード|何も?|なに|一切|どの|どれ|すべて|全て|もの|内容|ソース|プロジェクト|変更"
    r"|編集|修正)",
    rest=r"(?:他の|ほかの|以外|それ以外|もし|場合|別の)",
    tests=r"(?:テスト)",
    filler=r"(?:を|は|も|の|に|が|で|と|ください|下さい|絶対に?|決して|まだ|一切|して|こと|ように"
    r"|お願いします|まま|ただし|でも|今は|いで|いこと|な|い|に?して|おいて|加え|既存|コード|ファイル|、)",
    only=r"(?:だけ|のみ)(?:を)?(?:変更|編集|修正|更新|直)",
)

SPACED = (GERMAN, FRENCH, SPANISH)

_ENGLISH_MARKS = (
    "the to is are it of why what where which how who do does not that this with please make fix add and but can you me"
    " my for without any only just if when there from be should rename write then so tests pass change don t"
)
_WORD = compile_lazily(r"[^\W\d_]+")
_KANA, _HAN = compile_lazily(r"[\u3040-\u30ff]"), compile_lazily(r"[\u4e00-\u9fff]")


def choose_language(text: str) -> Language | None:
    """Return the language of a text; None for English, and where no word decides."""
    found = list_languages(text)
    if not found or not found[0].has_words:
        return next(iter(found), None)
    words = set(map(str.lower, _WORD.findall(text)))
    best = max(found, key=lambda each: _count_marks(each, words))
    return best if _count_marks(best, words) >= len(words & _list_marks(_ENGLISH_MARKS)) else None


def list_languages(text: str) -> list[Language]:
    """Return the languages, other than English, of which a text has a character or a word."""
    if _KANA.search(text):
        return [JAPANESE]
    if _HAN.search(text):
        return [CHINESE]
    words = set(map(str.lower, _WORD.findall(text)))
    return [each for each in SPACED if _count_marks(each, words)]


def _count_marks(language: Language, words: Set[str]) -> int:
    return len(words & _list_marks(language.marks))


@cache
def _list_marks(marks: str) -> frozenset[str]:
    return frozenset(marks.split())

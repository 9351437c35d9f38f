"""What a notice declares, by its title. What no word settles is OTHER; where words contradict each
other it is UNSURE, which is counted and shown, and declares nothing.

    title -> without names, tickers and what is in brackets -> its acts -> one kind

Laws
- A word inside a coin's name decides nothing: what is before a ticker in brackets is a name.
- The end of a designation (lifted, removed, extended, 해제) is no new designation.
- A ticker in brackets is a coin wherever the venue lists it, of one letter or like a word; outside
  brackets a word that could be English is none.
"""

# ruff: noqa: RUF001 (words of many languages)

import re
import unicodedata
from typing import Final

from core.market.facts import NoticeKind, NoticeScope

MAX_BASES: Final = 40
MAX_TITLE: Final = 600
"""Characters that are read; a title of ten thousand says what it declares at its start."""


def _words(*parts: str) -> re.Pattern[str]:
    return re.compile("|".join(parts), re.IGNORECASE)


TAG: Final = _words(
    r"\bseed tag\b",
    r"special[- ]treatment|特殊处理|特别处理|特別処理|특별\s*(?:관리|처리)",
    r"tratamiento especial|özel işlem|xem xét đặc biệt",
    r"(?<![a-z0-9])ST(?![a-z0-9])[- ]?(?:tag|label|warning|mark|risk|status|flag|rule|list|zone|"
    r"period|review|probation|observation|announcement|标|警|特|风|etiket|nhãn|cho|đối|경고|태그|"
    r"取)",
    r"ST 标",
    r"\bST rule\b|为 ?ST",
    r"\b(?:mark\w*|tagg?\w*|label\w*|under|flagg?\w*|as|off|now|with|adds?|carr\w+|nhãn|báo|"
    r"etiqueta|метк\w+|为|为\s|risk\s) ?(?:the )?ST(?![a-z0-9])",
    r"\b(?:monitor(?:ing)?|observation|assessment|watch|risk|experimental|attention|"
    r"adventure)[- ](?:\w+ )?(?:tags?|labels?|zone|list|marks?)\b",
    r"\bon monitoring\b|\bdelisting-risk tag|特别取(?:り)?扱い|风险警示",
    r"\bhigh[- ]risk (?:token|asset|coin|project)|모니터링\s*(?:태그|라벨)|평가\s*구역",
    r"관찰\s*(?:태그|구역)",
    r"(?:监察|监控|观察|监测)(?:标签|区)|评估区|考核区|モニタリングタグ|监视タグ",
    r"アセスメントゾーン",
    r"метк\w+ (?:мониторинга|наблюдения)|зон\w+ оценки|thẻ giám sát|izleme etiket",
    r"etiqueta de (?:monitoreo|seguimiento)",
)  # fmt: skip
CAUTION: Final = _words(
    r"거래\s*유의|투자\s*유의|유의\s*(?:종목|촉구|지정)|투자\s*(?:주의|경고)|(?:주의|경고)\s*종목",
    r"\bcaution(?:ary|s|ed)?\b|\binvestment[- ](?:warning|alert|attention)",
    r"\btrading (?:alert|warning)|投资警示|注意銘柄",
)
DELIST_WORD: Final = _words(
    r"\bde-?list(?:s|ed|ing|ings)?\b|\boff-?board|\bsunset",
    r"거래\s*(?:지원)?\s*[이가을를의]?\s*종료|거래\s*지원[이을]\s.{1,16}종료|상장\s*폐지",
    r"상폐|거래\s*지원\s*(?:중단|중지)|지원\s*종료\s*안내",
    r"下架|下线|终止交易|退市|上場廃止|取(?:り)?扱い?を?(?:终了|廃止)|делистинг",
    r"hủy niêm yết|listeden (?:çıkar|kaldır)|deslist",
)
DELIST: Final = _words(
    DELIST_WORD.pattern,
    r"\b(?:will|to) (?:be )?(?:remove|cease|discontinue|terminate|end|drop|"
    r"stop trading)d?\b(?! (?:deposit|withdraw|the suspen))(?!.*\b(?:tags?|labels?|marks?|"
    r"designation|warning|suspension)\b)",
    r"\bremov(?:al|ing|ed) (?:of|from)\b|\bremoved\b.*\bfrom\b",
    r"\b(?:end|ending|ends|ended|termination|cessation|discontinuation|discontinu\w+|ceas\w+|"
    r"terminat\w+|stop\w*) (?:of )?(?:all )?\s*(?:\w+\s+){0,3}?(?:trading|support)\b",
    r"\btrading (?:support )?(?:(?:for|in|of) )?\s*(?:\w+\s+){0,3}?(?:will end|has ended|ended|"
    r"terminated|termination|ceased|will cease|to end|ends)\b",
    r"\bsupport termination\b",
    r"\blast (?:trading )?day\b|\bno longer (?:be )?(?:trad\w+|available|support\w+)",
    r"\b(?:taken?|takes) off\b(?! .*(?:list\b|watchlist|tag))|\boff the board\b",
    r"\b(?:será )?elimina(?:rá|do)\b|\bretirará de la lista|исключ\w+ из листинга",
    r"прекра\w+ торг|ngừng giao dịch vĩnh viễn",
)  # fmt: skip
IS_PAST: Final = _words(
    r"\b(?:has|have|had) (?:been )?(?:officially |fully |now )?(?:delisted|removed|ended|"
    r"terminated|ceased|stopped|finished|concluded|completed)",
    r"(?<!be )(?<!to )\bdelisted\b|\b(?:has|have) (?:\w+ )?terminated\b",
    r"\b(?:ended|ceased|terminated|finished|removed|stopped) (?:\w+ ){0,4}?(?:trading|delisting)\b",
    r"\bended\b|\bremoved\b.*\bfrom\b|\btaken off\b.*\b(?:announced|at \d)",
    r"\bno longer (?:trades|available)|\bis no longer|\btrading terminated\b",
    r"\bcomplet|\bdone\b|\bcarried out\b|\bexecuted\b|\bfinali[sz]ed\b|\bconcluded\b",
    r"\bwas (?:delisted|removed)|\bis off\b",
    r"완료|되었|됐|됨\b|已|しました|完了|заверш|\bđã\b|çıkardı|kaldırdı|completad",
)
IS_AHEAD: Final = _words(
    r"\b(?:will|shall|to)\b(?: \w+){0,2}? (?:de-?list|remov|end\b|ceas|terminat|tak|drop)|예정"
)
PAIR_WORDS: Final = _words(
    r"\b(?:trading[- ])?pairs?\b|마켓|페어|거래쌍|交易对|币对|取引ペア|торгов\w+ пар",
    r"cặp giao dịch|işlem çift|\bpar(?:es)?\b",
)
EVERY_PAIR: Final = _words(
    r"\ball (?:\w+ )?(?:trading )?(?:pairs|markets)\b|전체 마켓|모든 마켓|所有交易对"
)
REMOVED: Final = _words(
    r"\bremov|\bde-?list|\bceas|\bterminat|\bdiscontinu|\bclos|\bend(?:s|ed|ing)?\b",
    r"\btaken? (?:\w+ ){0,3}?(?:down|offline)|\b(?:go|goes|be|taken) offline|\bretire",
    r"\bclean|\bdisabl|\bleave|\boffline\b",
    r"종료|삭제|폐지|제거|중단|정리|下架|移除|下线|廃止|终了|削除|удал|убира|делист|hủy|gỡ",
    r"kaldır|çıkar|elimin|retir",
)
RESUMED: Final = _words(
    r"\bresum(?:e[sd]?|ing|ption)\b|\bre-?open|\brestor|\bback (?:online|to normal)",
    r"\b(?:are|is) back\b|\bre-?enabl|\brestart|\bre-?activat|\bunpaus|\bunfr[eo]ez",
    r"\bunfrozen|\bonce more\b|\bopen(?:ed)? again\b|\bavailable again\b|\blive again\b",
    r"재개|정상화|복구|재오픈|다시\s*(?:열|가능|시작|오픈)|정상\s*운영|恢复|再开|возобнов",
    r"khôi phục|mở lại|yeniden (?:aç|başla)|reanud",
)
RESUMED_LATER: Final = _words(
    r"\b(?:will|to) (?:be )?resum|\bresum\w+ (?:when|once|after|upon|at)\b|이후\s*재개|후\s*재개"
)
MAINTENANCE: Final = _words(
    r"\bmaint[ea]n[ae]nce\b(?! (?:margin|finance))",
    r"\b(?:network|wallets?|node|system|mainnet|protocol|chain|platform|server|engine|database|"
    r"blockchain) (?:\w+ ){0,2}?(?:upgrad\w+|updat\w+|migration|optimi[sz]ation|check)\b",
    r"\bnode replacement|\b(?:to|will) support\b.* upgrade\b|\bscheduled upgrade",
    r"\bupgrade\b.* paused for about|\bhard[- ]?fork|\bsoft[- ]?fork|\bsystem check",
    r"\bupgrad\w+\b(?=.*(?:deposit|withdraw))|(?:deposit|withdraw).*\bupgrad",
    r"점검|하드\s*포크|업그레이드",
    r"(?:네트워크|지갑|시스템|서버|노드)\s*(?:업데이트|교체|작업|이전|증설)",
    r"메인넷\s*(?:전환|이전)|서버 증설",
    r"维护|升级|硬分叉|节点|メンテナンス|アップグレード|ハードフォーク|обслуживани",
    r"обновлени|хардфорк|bảo trì|nâng cấp|bakım|güncelleme|yükseltme|mantenimiento",
    r"actualización de",
)  # fmt: skip
SUSPENDED: Final = _words(
    r"\bsuspen(?:d|ds|ded|ding|sion|sions|de|derá)\b|\bhalt(?:s|ed|ing)?\b",
    r"\bpaus(?:e|es|ed|ing)\b|\bfreez(?:e|es|ing)\b|\bfrozen\b|\bon hold\b",
    r"\bnot accepted\b",
    r"\b(?:temporar\w+|emergency|urgent\w*) (?:\w+ ){0,4}?(?:clos\w+|disabl\w+|stop\w*|unavailab\w+)",
    r"\b(?:deposits?|withdrawals?|trading|funding)\b(?:\s+\w+){0,6}?\s+(?:clos\w+|disabl\w+|stop\w*|unavailable)\b",
    r"\b(?:clos\w+|disabl\w+|stop\w*)\s+(?:\w+\s+){0,3}?(?:deposits?|withdrawals?|trading|funding)\b",
    r"중단|중지|정지|유보|일시\s*제한|(?:입출금|입금|출금|거래)\s*제한|暂停|停止|приостан",
    r"tạm (?:ngừng|dừng|ngưng)|durdur|askıya|suspensión",
)
RELEASED: Final = _words(
    r"\blift|\bremov|\bno longer\b|\bsuspension (?:has )?(?:ended|over|ends)",
    r"\bend of (?:the )?(?:\w+ )?suspension|해제|解除|снят",
)
LISTED: Final = _words(
    r"\blists\b|\b(?:will|to) list\b|\b(?:new |initial )?listings?\b|\bgets? listed\b",
    r"\blaunch\w*|\bnow available\b|\btrading starts\b|\bwill (?:open trading|support)\b",
    r"\badds?\b(?!.*(?:tag|label|zone|warning))|\bintroduc",
    r"신규|상장(?!\s*폐지)|거래\s*지원\s*(?:안내|개시|시작)|오픈|上线|上市|新規",
    r"листинг(?!\w*\s*исключ)|(?<!hủy )niêm yết|listeleme",
)
PROMOTED: Final = _words(
    r"\bama\b|\bairdrops?\b|\bcampaign|\bcompetition|\bcontest|\bquiz|\bgiveaway",
    r"\brewards?\b|\bbonus|\bvouchers?\b|\bpromotion|\blearn\b|\bcashback|\bevent\b",
    r"\bwins?\b|\bpredict|\b(?:a|the|and) share\b|\bshare \$?[\d,]+|\bprize|\bcarnival",
    r"\bfestival|\bpremiere|\bfirst place|vote\b|\bpoll\b|\bstake\b|\bstaking for\b",
    r"이벤트|에어드[랍롭]|보상|혜택|프로모션|퀴즈|대회|챌린지|活动|空投|奖励|キャンペーン",
    r"エアドロップ|конкурс|розыгрыш|kampanya|yarışma|sự kiện|campaña",
)  # fmt: skip
EXPLAINED: Final = _words(
    r"\bfaqs?\b|\bguide(?:s|lines?)?\b|\brules?\b(?! triggered)|\bpolic(?:y|ies)\b",
    r"\bmechanism|\bhow (?:to|does|do|is|we)\b|\bhow \S+ (?:\w+ ){0,4}?works?\b",
    r"\bwhat (?:is|are|to|happens)\b|\bwhy\b|\bcriteria|\bexplained\b|\bcompensation",
    r"\bbuy-?back plan|\bconversion of|\breview of\b|\blooks at\b|\bapy\b|\btick size",
    r"\bmargin (?:rate|ratio|tier)|\bfees?\b|\bsurvey",
    r"제도|교육|정책|기준|절차|규정|방법|조회|심의|심사|검토|설문|가이드|자주 묻는|수수료",
    r"가처분|루머",
)
NEGATED: Final = _words(
    r"\b(?:will|do|does|did|is|are|was|were|has|have|decided) not\b(?! (?:able|accepted|support))",
    r"\bnot to\b|\bwon't\b|\bno (?:plans?|intention|delisting|suspension|caution)\b",
    r"\bno longer (?:be )?delist|\bdenies\b|\bdenied\b|\brumou?rs?\b|\bfalse\b|\bsays no\b",
    r"\bnever\b|\bavoided\b|\bstays\b|\bpass(?:ed|es)\b",
    r"않|아닙|아님|사실\s*무근|허위\s*(?:사실|정보|보도)|오해|없이|미지정|不会|しません|не будет",
)
UNDONE: Final = _words(
    r"\bcancel|\brevok|\brescind",
    r"\b(?:delisting|designation|warning|tag|notice|suspension|decision|plan) (?:\w+ ){0,3}withdrawn\b",
    r"\bwithdr(?:aws?|awal of) (?:the |its )?(?:\w+ )?(?:delisting|suspension|warning|designation|"
    r"notice|decision|tag|caution)",
    r"\bretract|\brevers(?:e[ds]?|al)\b|\bpostpon|\bdelay|\breschedul|\bdefer|\bextend",
    r"\bextension|\bprolong|\bput off\b|\boverturn|\bcall(?:s|ed)? off\b|\bscrap",
    r"\bdrops? (?:its |the )?(?:plan|delisting)|\bplan dropped|\btakes? back\b",
    r"\boff the table\b",
    r"철회|취소|연기|연장|보류|유예|번복|효력\s*정지|取消|推迟|延期|撤回|撤销|延长|延長",
    r"отмен|отлож|перенос|hoãn|ertelen|iptal|aplaz|cancela",
)  # fmt: skip
LIFTED: Final = _words(
    r"\blift(?:s|ed|ing)?\b|\bwithdrawn\b|\bremov|\bclear(?:s|ed)\b|\bno longer\b",
    r"\bend(?:s|ed|ing)?\b|\bexpir|\bdrop(?:s|ped)?\b|\brelease|\bterminat|\bstrip",
    r"\btaken? off|\bexit|\bgraduat|\bout of\b|\bceas|\bunmark|\buntag|\bdelet",
    r"\breturns? to\b|\bleaves?\b|\boff\b",
    r"해제|해지|지정\s*(?:기간\s*)?종료|제외|벗어|삭제|제거|유지|변경|移除|移出|解除|削除",
    r"снят|убра|gỡ|kaldır|retira|elimina",
)
PUT_ON: Final = _words(
    r"\badd(?:s|ed|ing|ition)?\b|\bappl(?:y|ies|ied)\b|\bassign|\bplac(?:e[ds]?|ing)\b",
    r"\bputs?\b|\bnewly\b|\bmark(?:s|ed)? (?:as|with)|\bmoved? .*(?:to|into)\b|\battach",
    r"\btagged\b|\bto include\b|\bto cover\b",
    r"\bexten(?:d|ds|ded|ding|sion)\b(?:.*)\bto (?!(?:\d{4}|\d{1,2}\b|jan|feb|mar|apr|may|jun|jul|"
    r"aug|sep|oct|nov|dec|further|the end))",
    r"추가|부여|添加|新增|列入|划入|追加|добав|перемещ|mở rộng|thêm|gắn|ekl|genişlet|añad|inclui",
)
CALLED_OFF: Final = _words(r"\bcancel|\bpostpon|\bcall(?:s|ed)? off\b", r"취소|연기|取消")
WILL_DELIST: Final = _words(r"\bwill delist\b")
SEED_TAG: Final = _words(r"\bseed tag\b")
NO_LONGER: Final = _words(r"\bno longer\b", r"移出")
BY_THE_WAY: Final = _words(
    r"(?:&|\band\b) remov\w+ the seed tag\b.*",
    r"\b(?:according to|under) (?:the )?(?:\w+ ){0,4}rules\b",
)

# One after the other: a thing of its own before what is the rule, spot.
_SCOPES: Final = (
    (NoticeScope.SPOT, _words(r"\bspot\b(?! margin)|현물|现货|現物")),
    (
        NoticeScope.FUTURES,
        _words(
            r"\bperpetuals?\b|\bperps?\b|\bfutures\b|\b(?:usd[tcs]?|coin)[- ]?(?:m|margined)\b",
            r"\bdelivery\b|\bderivatives?\b",
            r"(?<!token )(?<!smart )\bcontracts?\b(?! (?:swap|address|migrat|upgrad|chang|replac|vulnerab|exploit|bug))",
            r"\boptions?\b",
            r"선물|무기한|合约|永续|先物|фьючерс|hợp đồng|vadeli|futuros",
        ),
    ),
    (NoticeScope.MARGIN, _words(r"\bmargin\b|\bleverag|마진|레버리지|杠杆|マージン|маржин|kaldıraç|ký quỹ")),
    (
        NoticeScope.LOAN,
        _words(
            r"\bloans?\b|\blending\b|\bearn\b|\bstaking\b|\bborrow|\bsavings\b",
            r"\bflexible products?\b",
            r"렌딩|대여|대출|스테이킹|예치|借贷|理财|ステーキング|レンディング|кредит|cho vay",
        ),
    ),
)  # fmt: skip

_QUOTES: Final = (
    r"USDT|USDC|FDUSD|TUSD|BUSD|HUSD|GUSD|KRW|BTC|ETH|BNB|EUR|GBP|AUD|TRY|BRL|JPY|USD|BGB|HT|PERP"
)
_TICKERS: Final = (
    r"\(\s*\$?[A-Z0-9]{1,20}(?:[/_-][A-Z0-9]{2,6})?(?:\s*[,/&·、]\s*\$?[A-Z0-9]{1,20})*\s*\)"
)
_NAME: Final = re.compile(rf"(?:(?<!\S)(?!ST\b)\S+?\s*)?{_TICKERS}")
_LONG_NAME: Final = re.compile(
    rf"(?<!\bto )(?<!\b[Ww]ill )\b(?:(?!(?:Will|To|Lists?)\b)[A-Z0-9][\w.'-]*\s+){{0,4}}"
    rf"(?!(?:Will|To|Lists?)\b)[A-Z0-9][\w.'-]*\s*{_TICKERS}"
)
_ASIDE: Final = re.compile(r"\([^()]*\)")
_TREATMENT: Final = re.compile(r"(treatment|처리|관리|处理|biệt|警示|扱い)\s*\(ST\)", re.IGNORECASE)
_CAPITALS: Final = re.compile(
    r"(?<![A-Za-z0-9])(?!(?:ST|AMA|FAQ|APY)(?![A-Za-z0-9]))[A-Z0-9]{2,15}(?![A-Za-z0-9])"
)
_ANY_PAIR: Final = re.compile(rf"(?<![A-Za-z0-9])[A-Z0-9]{{1,15}}[/_-]({_QUOTES})(?![A-Za-z0-9])")
_BRACKETS: Final = re.compile(r"\(([^()]{1,400})\)")
_IN_BRACKETS: Final = re.compile(r"\$?([A-Z0-9]{1,20})(?:[/_-][A-Z0-9]{2,6})?")
_PAIR: Final = re.compile(
    rf"(?<![A-Za-z0-9])(?:([A-Z0-9]{{1,15}})(?:/[A-Z]{{2,5}}|[_-](?:{_QUOTES}))|([A-Z0-9]{{1,15}}?)(?:USDT|USDC)|([A-Z0-9]{{2,15}}?)(?:KRW|USD))"
    r"(?![A-Za-z0-9])(?!-(?:Quoted|Denominated))"
)
_QUOTED: Final = re.compile(  # markets by what is paid in them
    r"(?<![A-Z0-9/_-])(?:[A-Z]{2,5}, )*[A-Z]{2,5}(?:-(?:Quoted|Denominated)| Quote|\s*마켓| Market| Trading Pairs)",
)
_LIST: Final = re.compile(  # one letter, or like a word, among others
    r"(?<![A-Za-z0-9])[A-Z0-9]{1,15}(?:(?:\s*[,、&及和]\s*|\s+(?:and|ve|e|y|и|và)\s+)[A-Z0-9]{1,15})+(?![A-Za-z0-9])",
)
_WORD: Final = re.compile(r"(?<![A-Za-z0-9])([A-Z0-9]{1,15})(?![A-Za-z0-9])")
_NEVER_TICKERS: Final = frozenset({"UTC", "KST", "GMT", "FAQ", "API", "AM", "PM"})
_WORDS_TOO: Final = frozenset(
    (
        *(
            "ST",
            "NFT",
            "TAG",
            "NEW",
            "THE",
            "AND",
            "OKX",
            "MEXC",
            "HTX",
            "KRW",
            "USDT",
            "USDC",
            "USD",
        ),
        *(
            "ON",
            "IN",
            "AT",
            "DEFI",
            "VIP",
            "TO",
            "OF",
            "OR",
            "FOR",
            "BY",
            "IS",
            "IT",
            "AMA",
            "LIST",
        ),
        *("DELIST", "SPOT", "ALL", "NO", "NOT", "UP"),
    )
)
_SIMPLER: Final = str.maketrans(
    "維護級節點復暫區處標對幣終線開監評記選進關於別",
    "维护级节点复暂区处标对币终线开监评记选进关于别",
)


def kind_of(title: str) -> NoticeKind:
    plain = _TREATMENT.sub(r"\1 ST", _plain(title))
    text = _acts(_NAME.sub(" ", plain))
    kind = _kind(text, plain)
    without_names = _kind(_acts(_NAME.sub(" ", _LONG_NAME.sub(" ", plain))), plain)
    if without_names is kind or without_names is not NoticeKind.OTHER:
        return without_names
    # what decides may be a verb beside a name, or a part of the name
    return kind if (listed := LISTED.search(text)) is None else _unless_listed(text, listed, kind)


def _unless_listed(text: str, listed: re.Match[str], kind: NoticeKind) -> NoticeKind:
    declared = (TAG, CAUTION, DELIST, RESUMED, MAINTENANCE, SUSPENDED)
    first = min((found.start() for one in declared if (found := one.search(text))), default=0)
    if listed.start() < first:
        return NoticeKind.OTHER
    return kind if kind is NoticeKind.MAINTENANCE else NoticeKind.UNSURE


def _acts(text: str) -> str:
    """What is left of a title without asides and tickers."""
    rest = re.sub(r"\s+", " ", BY_THE_WAY.sub("", _ASIDE.sub(" ", text)))
    is_shouted = not any(letter.islower() or ord(letter) > 0x2E7F for letter in rest)
    return rest if is_shouted else _CAPITALS.sub(" ", rest)


def _kind(text: str, plain: str) -> NoticeKind:
    if WILL_DELIST.search(text) and not NEGATED.search(text):
        return _of_pairs_or_coins(text, plain)
    if PROMOTED.search(text) or EXPLAINED.search(text):
        return _of_delisting(text) if _has_ended(text) else NoticeKind.OTHER
    is_put_on = PUT_ON.search(text) is not None
    if SEED_TAG.search(text) and LISTED.search(text):
        return NoticeKind.OTHER
    kind = (
        NoticeKind.ST_TAG
        if TAG.search(text)
        else NoticeKind.CAUTION
        if CAUTION.search(text)
        else None
    )
    if kind is not None and (is_put_on or not DELIST_WORD.search(TAG.sub("", text))):
        return _of_designation(text, kind, is_put_on=is_put_on)
    if _is_of_pairs(text, plain) or (DELIST.search(text) and not MAINTENANCE.search(text)):
        return _of_pairs_or_coins(text, plain)
    return _of_halt(text)


def _of_pairs_or_coins(text: str, plain: str) -> NoticeKind:
    if not _is_of_pairs(text, plain):
        return _of_delisting(text)
    return NoticeKind.OTHER if UNDONE.search(text) else NoticeKind.QUOTE_PAIR_REMOVAL


def _has_ended(text: str) -> bool:
    """Whether a delisting is over, whatever is explained beside it."""
    found = re.search(r"(?<!of )\bdelisted\b|\bdelisting completed\b", text, re.IGNORECASE)
    return found is not None


def _is_of_pairs(text: str, plain: str) -> bool:
    if not REMOVED.search(text) or EVERY_PAIR.search(text):
        return False
    quotes = set(_ANY_PAIR.findall(plain))
    return PAIR_WORDS.search(text) is not None or bool(quotes - {"USDT", "PERP"})


def _of_designation(text: str, kind: NoticeKind, *, is_put_on: bool) -> NoticeKind:
    if NEGATED.search(text):
        return NoticeKind.OTHER
    if is_put_on and not NO_LONGER.search(text):
        return NoticeKind.UNSURE if LIFTED.search(text) else kind
    return NoticeKind.OTHER if LIFTED.search(text) or UNDONE.search(text) else kind


def _of_delisting(text: str) -> NoticeKind:
    if UNDONE.search(text) or NEGATED.search(text) or "유보" in text:
        return NoticeKind.OTHER
    listed, delist = LISTED.search(text), DELIST.search(text)
    if listed and delist and listed.start() < delist.start():
        return NoticeKind.UNSURE
    is_past = IS_PAST.search(text) and not IS_AHEAD.search(text)
    return NoticeKind.DELISTED if is_past else NoticeKind.DELIST


def _of_halt(text: str) -> NoticeKind:
    is_maintenance, is_resumed = MAINTENANCE.search(text), RESUMED.search(text)
    if is_maintenance and CALLED_OFF.search(text):
        return NoticeKind.OTHER
    if SUSPENDED.search(text):
        if is_maintenance:
            return NoticeKind.MAINTENANCE
        if NEGATED.search(text) or UNDONE.search(text):
            return NoticeKind.OTHER
        is_over = (is_resumed and not RESUMED_LATER.search(text)) or RELEASED.search(text)
        return NoticeKind.RESUME if is_over else NoticeKind.SUSPEND
    if is_resumed and not (is_maintenance and RESUMED_LATER.search(text)):
        return NoticeKind.RESUME
    return NoticeKind.MAINTENANCE if is_maintenance else NoticeKind.OTHER


def scope_of(title: str) -> NoticeScope:
    text = _CAPITALS.sub(" ", _NAME.sub(" ", _plain(title)))
    return next((scope for scope, words in _SCOPES if words.search(text)), NoticeScope.SPOT)


def bases_in(title: str, known: frozenset[str]) -> tuple[str, ...]:
    """The tickers of the venue that a title names: in brackets, else as pairs, else as words; never
    one that the venue does not list.
    """
    plain = _plain(title)
    bare = _QUOTED.sub(" ", plain)
    pairs = ["".join(found) for found in _PAIR.findall(bare)]
    for found in (_bracketed(plain), pairs, _bare(bare, known)):
        bases = [one for one in found if one in known and one not in _NEVER_TICKERS]
        if bases:
            return tuple(dict.fromkeys(bases))[:MAX_BASES]
    return ()


def _bare(text: str, known: frozenset[str]) -> list[str]:
    """Those of a list may be of one letter, or like a word."""
    runs = [re.findall(r"[A-Z0-9]+", run) for run in _LIST.findall(text)]
    listed = {one for run in runs if known.issuperset(run) for one in run}
    return [
        one
        for one in _WORD.findall(text)
        if one in listed or (len(one) > 1 and one not in _WORDS_TOO)
    ]


def _bracketed(plain: str) -> list[str]:
    """`Special Treatment (ST)` is no coin."""
    items = [
        item.strip()
        for group in _BRACKETS.finditer(_TREATMENT.sub(r"\1", plain))
        if "마켓" not in group[1]
        for item in re.split(r"[,、·&;]|\band\b", group[1])
    ]
    return [found[1] for item in items if (found := _IN_BRACKETS.fullmatch(item))]


def _plain(title: str) -> str:
    """With half-width letters and round brackets, and simplified signs; a category in square
    brackets is left without them.
    """
    text = unicodedata.normalize("NFKC", title[:MAX_TITLE]).translate(_SIMPLER)
    text = re.sub('["“”«»「」]', "", text)
    return re.sub(r"\[([^\[\]]*)\]", lambda found: _opened(found[1]), text)


def _opened(inside: str) -> str:
    return f"({inside})" if _IN_BRACKETS.fullmatch(inside.strip()) else f" {inside} "

"""The differences between Wikipedias: the names of namespaces, and the titles of sections of references."""

from __future__ import annotations

import json
import re
from functools import lru_cache

# Names of the file namespace that the head of a dump does not list: old ones, and those of other wikis in copied text.
FILE_NAMES = """
file image media datei bild fichier archivo imagen ficheiro imagem immagine bestand afbeelding plik grafika soubor obrázek
fájl kép tiedosto kuva fil dosya resim αρχείο εικόνα файл изображение зображення слика датотека fișier imagine tập_tin
hình berkas gambar ملف صورة پرونده تصویر קובץ תמונה चित्र ファイル 画像 文件 档案 檔案 图像 圖像 파일 그림 ไฟล์ ภาพ
""".split()
CATEGORY_NAMES = """
category kategorie catégorie categoría categoria categorie kategoria kategória luokka kategori κατηγορία категория
категорія категорија kategorija thể_loại تصنيف رده קטגוריה श्रेणी カテゴリ 分类 分類 분류 หมวดหมู่
""".split()

# Sections that contain only references or external links.
_SECTIONS = """
references|reference|notes|footnotes|notes and references|references and notes|citations|sources|works cited|endnotes
external links|external link|external references|links
einzelnachweise|quellen|weblinks|anmerkungen|fußnoten|nachweise|références|notes et références|liens externes|lien externe
notes|referencias|notas|notas y referencias|enlaces externos|fuentes|referências|notas e referências|ligações externas
riferimenti|note|collegamenti esterni|fonti|referenties|bronnen|externe links|externe link|bronnen, noten en/of referenties
przypisy|linki zewnętrzne|uwagi|reference|externí odkazy|poznámky|jegyzetek|külső hivatkozások|források|lähteet|viitteet
aiheesta muualla|referenser|noter|källor|externa länkar|referanser|kilder|eksterne lenker|eksterne henvisninger|kaynakça
dış bağlantılar|notlar|παραπομπές|εξωτερικοί σύνδεσμοι|πηγές|примечания|ссылки|источники|примітки|посилання|джерела
референце|спољашње везе|бележки|външни препратки|note|legături externe|tham khảo|liên kết ngoài|chú thích|referensi
pranala luar|مراجع|المراجع|وصلات خارجية|روابط خارجية|منابع|پانویس|پیوند به بیرون|הערות שוליים|קישורים חיצוניים
सन्दर्भ|बाहरी कड़ियाँ|脚注|出典|外部リンク|参考资料|參考資料|参考文献|參考文獻|外部链接|外部連結|注释|注釋|각주|외부 링크|อ้างอิง|แหล่งข้อมูลอื่น
"""
REFERENCE_SECTIONS = frozenset(_SECTIONS.strip().replace("\n", "|").split("|"))

# The names of languages that {{lang-xx}} of the English wiki shows before the words.
LANGUAGE_NAMES = dict(
    pair.split(":")
    for pair in """
    ar:Arabic az:Azerbaijani be:Belarusian ber:Berber bg:Bulgarian bn:Bengali bs:Bosnian ca:Catalan cs:Czech cu:Slavonic
    cy:Welsh da:Danish de:German el:Greek en:English eo:Esperanto es:Spanish et:Estonian eu:Basque fa:Persian fi:Finnish
    fr:French ga:Irish gl:Galician grc:Greek grc-gre:Greek gu:Gujarati he:Hebrew hi:Hindi hr:Croatian hu:Hungarian
    hy:Armenian id:Indonesian is:Icelandic it:Italian ja:Japanese ka:Georgian kk:Kazakh km:Khmer ko:Korean ku:Kurdish
    la:Latin lo:Lao lt:Lithuanian lv:Latvian mk:Macedonian mn:Mongolian mr:Marathi ms:Malay my:Burmese ne:Nepali nl:Dutch
    no:Norwegian pa:Punjabi pl:Polish ps:Pashto pt:Portuguese ro:Romanian ru:Russian sa:Sanskrit si:Sinhala sk:Slovak
    sl:Slovene sq:Albanian sr:Serbian sv:Swedish sw:Swahili ta:Tamil te:Telugu th:Thai tl:Tagalog tr:Turkish uk:Ukrainian
    ur:Urdu uz:Uzbek vi:Vietnamese yi:Yiddish zh:Chinese
    """.split()
)

# [[xx:Title]] leads to the same page in another language; most codes have two or three letters.
INTERLANGUAGE = re.compile(
    r"[a-z]{2,3}|simple|be-x-old|be-tarask|zh-(?:yue|min-nan|classical|cn|tw)|roa-(?:rup|tara)|bat-smg|fiu-vro|map-bms|"
    r"nds-nl|cbk-zam|tokipona"
)


# The prefixes of the links that are not text, in lower case, with their names in reports; and whether it is English.
Wiki = tuple[dict[str, str], bool]


@lru_cache(maxsize=64)
def wiki_of(context: str) -> Wiki:
    """Return the wiki of a dump. context: of a block; see `Block.context`. For "", all known names, and English."""
    names: dict[str, str] = json.loads(context or "{}")
    kinds = (("14", "link: Category", CATEGORY_NAMES), ("6", "link: File", FILE_NAMES))
    prefixes = ((name, kind) for key, kind, others in kinds for name in (*others, names.get(key, "")) if name)
    known = {name.replace("_", " ").casefold(): kind for name, kind in prefixes}
    return known, names.get("14", "Category") == "Category"

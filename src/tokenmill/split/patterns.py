"""The named split patterns, as their publishers write them. names.py has their other names."""

_O200K_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"


def _by_case(but_not: str, contractions: str, digits: str, after_signs: str) -> str:
    """Return a pattern like GPT-4o's: a capital after a small letter begins a pretoken."""
    start, both = r"[^\r\n\p{L}\p{N}]?", r"\p{Lm}\p{Lo}\p{M}" + but_not
    upper, lower = rf"[\p{{Lu}}\p{{Lt}}{both}]", rf"[\p{{Ll}}{both}]"
    words = rf"{start}{upper}*{lower}+{contractions}|{start}{upper}+{lower}*{contractions}"
    return rf"{words}|{digits}| ?[^\s\p{{L}}\p{{N}}]+[{after_signs}]*|\s*[\r\n]+|\s+(?!\S)|\s+"


# The default of training and counting: tiktoken, tokenizers and llama.cpp all run it. Its pretokens are those of cl100k, except
# for white space at the end of a text that is not a line break.
DEFAULT = "llama3"

PATTERNS: dict[str, str] = {
    # OpenAI's GPT-2, r50k and p50k, as tiktoken writes it.
    "gpt2": r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s""",
    # GPT-3.5 and GPT-4, as tiktoken writes it.
    "cl100k": r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|"""
    r"""\s++$|\s*[\r\n]|\s+(?!\S)|\s""",
    # GPT-4o, as tiktoken writes it.
    "o200k": _by_case("", _O200K_CONTRACTIONS, r"\p{N}{1,3}", r"\r\n/"),
    # Kimi K2: as GPT-4o, but Han characters separate from other letters.
    "kimi-k2": r"[\p{Han}]+|" + _by_case(r"&&[^\p{Han}]", _O200K_CONTRACTIONS, r"\p{N}{1,3}", r"\r\n"),
    # Mistral's tekken: as GPT-4o, but no contractions, and digits one by one.
    "tekken": _by_case("", "", r"\p{N}", r"\r\n/"),
    # Llama 3, as in its tokenizer.json. Unlike cl100k, it has no alternative for all trailing white space.
    "llama3": r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"""
    r"""\s*[\r\n]+|\s+(?!\S)|\s+""",
    # Qwen 2 and later: digits one by one.
    "qwen2": r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|"""
    r"""\s*[\r\n]+|\s+(?!\S)|\s+""",
    # Qwen 3.5: as Qwen 2, with marks among the letters.
    "qwen3.5": r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|"""
    r"""\s*[\r\n]+|\s+(?!\S)|\s+""",
    # nanochat: at most two digits in a pretoken, and one newline in the white-space alternative.
    "nanochat": r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|"""
    r"""\s*[\r\n]|\s+(?!\S)|\s+""",
    # Each white-space character begins a new pretoken.
    "whitespace": r"\s\S*+|\S++",
    # ddtokens: the same with the white space of ASCII alone, and each newline is a pretoken, since it reads line by line.
    "ddtokens": r"\n|[\t\x0b-\r ][^\t-\r ]*+|[^\t-\r ]++",
}

# The second stage of SuperBPE: numbers, runs of punctuation, and spaces before a space are separate; words are not.
SUPERWORDS = r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]{2,}[\r\n/]*| +(?!\S)"

# SentencePiece's words: a space begins a word, and a line ends it. U+2581, which stands for a space, is separate.
SENTENCEPIECE = r"\n|\x{2581}| ?[^ \n\x{2581}]++| "

# Several patterns, each of which cuts the pretokens of the one before.
CHAINS: dict[str, tuple[str, ...]] = {
    "deepseek-v3": (
        r"\p{N}{1,3}",
        "[一-龥぀-ゟ゠-ヿ]+",
        r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"""
        r""" ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+""",
    ),
    # StarCoder and EXAONE 3: digits one by one, then GPT-2.
    "starcoder": (r"\p{N}", PATTERNS["gpt2"]),
    # Patterns for numbers, for use before another pattern. The last one counts from the right, as in 1 234 567. It needs
    # the regex module, because the cuts depend on the end of the number.
    "digits-1": (r"\p{N}",),
    "digits-3": (r"\p{N}{1,3}",),
    "digits-3-right": (r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))",),
}

LINES = "[^\n]+|\n+"  # of Gemma 4

# The punctuation of tokenizers: that of ASCII, and the general category P of Unicode 8.0, without later additions.
_LATER = (
    r"\x{61d}\x{9fd}\x{a76}\x{c77}\x{c84}\x{1b4e}-\x{1b4f}\x{1b7d}-\x{1b7f}\x{2e43}-\x{2e5d}\x{10d6e}\x{10ead}"
    r"\x{10f55}-\x{10f89}\x{113d4}-\x{113d8}\x{1144b}-\x{1145d}\x{11660}-\x{1166c}\x{116b9}\x{1183b}"
    r"\x{11944}-\x{11b09}\x{11be1}\x{11c41}-\x{11c45}\x{11c70}-\x{11c71}\x{11ef7}-\x{11fff}\x{12ff1}-\x{12ff2}"
    r"\x{16d6d}-\x{16d6f}\x{16e97}-\x{16e9a}\x{16fe2}\x{1e5ff}\x{1e95e}-\x{1e95f}"
)
PUNCTUATION = rf"[\p{{P}}$+<=>^`|~\x{{166d}}\x{{111c9}}&&[^{_LATER}]]"

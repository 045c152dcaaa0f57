"""The options of training, checked before any text is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ..counting.options import TRAINING, MinCount, SpecialTokens, known_splits
from ..counting.weights import Weight, exact_number
from ..errors import OptionName, UsageError, plural
from ..jobs.work import Threads
from ..options import Option, listed_names
from ..options import Options as AnyOptions

if TYPE_CHECKING:
    from ..split import Splitter

SUPERWORDS = "Superwords"  # the heading of their options in help texts
MOST_WORDS = 62
LONGEST = 2**30  # the kernels support fewer tokens than this, and at most this many bytes in a token

SUPERBPE = ("superwords", "superbpe")
NORMALIZERS = {
    "nfc": "NFC",
    "nfd": "NFD",
    "nfkc": "NFKC",
    "nfkd": "NFKD",
    "lowercase": "Lowercase",
    "strip-accents": "StripAccents",
}
ROLES = ("bos", "eos", "pad", "unk", "sep", "cls", "mask")


@dataclass(frozen=True, kw_only=True)
class MergeOptions(AnyOptions):
    """The options of every training, and of an extension.

    special_tokens: control tokens. They get the last ids. Training cuts them out of the text, where each ends a document.
    min_count: leave out pretokens with a lower count. min_pair_count: stop when the count of the best pair is lower.
    max_token_bytes: the length of the longest new token. num_threads: None is all cores. The result does not depend on it.
    refine: the threshold of Picky BPE, above 0 and at most 1; None trains plain BPE.
    """

    special_tokens: SpecialTokens = ()
    min_count: MinCount = 1
    min_pair_count: Annotated[int, Option("Stop when the best pair is rarer.", min=1, section=TRAINING)] = 1
    max_token_bytes: Annotated[int | None, Option("Never make a longer token.", min=1, section=TRAINING)] = None
    # fmt: off
    refine: Annotated[float | None, Option("Picky BPE: remove tokens whose IoS reaches this threshold, e.g. 0.9.", share=True, section=TRAINING)] = None
    # fmt: on
    num_threads: Threads = None


@dataclass(frozen=True, kw_only=True)
class Options(MergeOptions):
    """The options that decide a vocabulary. Raises UsageError for an invalid option.

    The vocabulary has fewer tokens than vocab_size if the corpus runs out of pairs: see its `n_vocab`.
    alphabet: see alphabet.py.
    roles: special tokens by role, such as {"bos": "<|start|>"}; they need not be in special_tokens too.
    """

    # fmt: off
    vocab_size: Annotated[int, Option("Number of ids, with bytes and special tokens; 32k is 32,000.", min=1, section=TRAINING)] = field(kw_only=False)
    normalize: Annotated[tuple[str, ...], Option(f"Change text first, in training and encoding: {', '.join(NORMALIZERS)}.", metavar="NAME[,...]", parse=listed_names, section=TRAINING)] = ()
    characters: Annotated[str | None, Option("The characters to keep, instead of all in the text.", only=("alphabet", "characters"), section=TRAINING)] = None
    alphabet: Annotated[Literal["bytes", "characters"], Option("The initial tokens: bytes (default) or characters.", section=TRAINING)] = "bytes"
    coverage: Annotated[float, Option("The share of all characters to keep.", share=True, only=("alphabet", "characters"), section=TRAINING)] = 1.0
    unknown_token: Annotated[str | None, Option("The token for all other characters.", only=("alphabet", "characters"), section=TRAINING)] = None
    roles: Annotated[Mapping[str, str] | Sequence[str] | None, Option("Special tokens by role: bos, eos, pad, unk ...", "--role", metavar="ROLE=TEXT...", many=True, section=TRAINING)] = None
    special_tokens_as_text: Annotated[bool, Option("Learn special tokens in the text like other text.", "--special-tokens-as-text", section=TRAINING)] = False
    superwords: Annotated[Literal["superbpe", "boundless"] | None, Option("superbpe: tokens that span words; boundless: of whole pretokens.", section=SUPERWORDS)] = None
    stage1_size: Annotated[int | None, Option("Number of tokens at which stage 2 begins.", min=1, only=SUPERBPE, section=SUPERWORDS)] = None
    stage2_split: Annotated[str | None, Option("Split pattern of stage 2. [default: SuperBPE's]", only=SUPERBPE, section=SUPERWORDS, known=known_splits)] = None
    max_words: Annotated[int | None, Option("Maximum words in a token; 0: no limit. [default: 4]", min=0, max=MOST_WORDS, only=SUPERBPE, section=SUPERWORDS)] = None
    colon_veto: Annotated[bool | None, Option("Make no token with a colon and a space after it. [default: yes]", only=SUPERBPE, section=SUPERWORDS)] = None
    # fmt: on

    def __post_init__(self) -> None:
        from ..vocabulary.validation import checked_special_tokens

        super().__post_init__()
        special_tokens = checked_special_tokens(self.special_tokens)
        roles = one_by_name("roles", self.roles)
        if unknown := next((name for name in roles if name not in ROLES), None):
            raise UsageError(OptionName("roles"), f" has {unknown!r}; known are {', '.join(ROLES)}")
        object.__setattr__(self, "roles", roles or None)
        special_tokens = checked_special_tokens([*dict.fromkeys((*special_tokens, *roles.values()))])
        if self.unknown_token is not None:
            checked_special_tokens([self.unknown_token])
            if (unk := roles.get("unk", self.unknown_token)) != self.unknown_token:
                raise UsageError(OptionName("unknown_token"), f" is {self.unknown_token}, the role unk {unk}; give one")
            special_tokens = tuple(text for text in special_tokens if text != self.unknown_token)
        object.__setattr__(self, "special_tokens", special_tokens)
        if isinstance(self.normalize, str):
            object.__setattr__(self, "normalize", listed_names(self.normalize))
        for name in self.normalize:
            if name not in NORMALIZERS:
                raise UsageError(OptionName("normalize"), f" is {name!r}; known are {', '.join(NORMALIZERS)}")
        if self.characters is not None and self.coverage != 1:
            raise UsageError(OptionName("characters"), " names the alphabet; leave out ", OptionName("coverage"))
        if self.superwords is not None:
            self._check_superwords()
        if self.alphabet == "bytes":
            self.check_size(256)
        if self.n_ordinary >= LONGEST:
            raise UsageError(
                OptionName("vocab_size"), f" is {self.vocab_size}; at most {LONGEST} tokens can be trained"
            )

    def splitter(self, split: str | Iterable[str], *, normalize: Callable[[str], str] | None = None) -> Splitter:
        """The Splitter for these patterns. It cuts special tokens out of the text unless they are learned as text."""
        from ..split import Splitter

        patterns = [split] if isinstance(split, str) else list(split)
        special = () if self.special_tokens_as_text else self.special_tokens
        return Splitter(*patterns, special_tokens=special, normalize=normalize)

    @property
    def normalizers(self) -> tuple[str, ...]:
        """The normalizers of a Vocabulary that was trained with these options."""
        return tuple(NORMALIZERS[name] for name in self.normalize)

    @property
    def n_ordinary(self) -> int:
        """The number of wanted tokens that are not special."""
        return self.vocab_size - len(tuple(self.special_tokens))

    @property
    def max_bytes(self) -> int:
        """The length of the longest token allowed, in bytes."""
        return min(self.max_token_bytes or LONGEST, LONGEST)

    def without_superwords(self, **changes: Any) -> Options:
        """The same options without superwords."""
        return replace(
            self, superwords=None, stage1_size=None, stage2_split=None, max_words=None, colon_veto=None, **changes
        )

    def _check_superwords(self) -> None:
        if self.alphabet != "bytes":
            raise UsageError("superwords are trained on bytes; leave the options of characters out")
        for name in ("normalize", "special_tokens_as_text"):
            if getattr(self, name):
                raise UsageError("superwords are trained on the text as it is; leave out ", OptionName(name))
        if self.superwords == "boundless":
            return
        if self.refine is not None:
            boundless = OptionName("superwords", "boundless")
            raise UsageError("SuperBPE is trained without ", OptionName("refine"), "; only ", boundless, " uses it")
        if self.stage1_size is None:
            stage = OptionName("stage1_size")
            raise UsageError(OptionName(*SUPERBPE), " needs ", stage, ": at how many tokens stage 2 begins")
        least = 256 + self.vocab_size - self.n_ordinary
        if not least <= self.stage1_size <= self.vocab_size:
            raise UsageError(
                OptionName("stage1_size"),
                f" is {self.stage1_size}; it must be from {least}, the bytes and the special tokens, to ",
                OptionName("vocab_size"),
                f", {self.vocab_size}",
            )

    def check_size(self, alphabet_size: int) -> None:
        """Raise UsageError if the alphabet and the special tokens alone are more than vocab_size."""
        special = self.vocab_size - self.n_ordinary
        if self.n_ordinary < alphabet_size:
            what = "the 256 bytes" if self.alphabet == "bytes" else f"the {alphabet_size} characters"
            more = f" and {plural(special, 'special token')}" if special else ""
            least = f"{what}{more} need at least {alphabet_size + special}"
            raise UsageError(OptionName("vocab_size"), f" is {self.vocab_size}, but {least}")


PARITY = "Parity"  # the heading of its options in help texts


@dataclass(frozen=True, kw_only=True)
class Parity(AnyOptions):
    """The options of parity-aware BPE: see `train_parity`. Raises UsageError for an invalid option."""

    # fmt: off
    ratios: Annotated[Mapping[str, Weight] | Sequence[str] | None, Option("Without --dev: the target bytes per token of a language, relative to the others.", "--ratio", metavar="NAME=N...", many=True, section=PARITY)] = None
    window: Annotated[int | None, Option("Limit how many of the last N merges a language chooses.", min=1, section=PARITY)] = None
    alpha: Annotated[Weight, Option("The limit of --window, in equal shares. [default: 2]", metavar="N", section=PARITY)] = 2
    # fmt: on
    global_merges: Annotated[int, Option("Number of plain merges to make first.", min=0, section=PARITY)] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        alpha = exact_number(self.alpha)
        if alpha is None or alpha < 1:
            raise UsageError(OptionName("alpha"), f" is {self.alpha!r}; it must be a number of at least 1")
        if alpha != 2 and self.window is None:
            raise UsageError(OptionName("alpha"), " is the limit of ", OptionName("window"), ": give that too")
        ratios: dict[str, Any] = {}
        for name, text in one_by_name("ratios", self.ratios).items():
            ratios[name] = exact_number(text)
            if ratios[name] is None or ratios[name] <= 0:
                raise UsageError(f"the ratio of {name} is {text!r}; it must be a number above 0")
        object.__setattr__(self, "alpha", alpha)
        object.__setattr__(self, "ratios", ratios or None)


def by_name(texts: Mapping[str, Any] | Sequence[str]) -> Mapping[str, Any]:
    """The values by name. Of "NAME=VALUE" texts, a value without a name belongs to the name before it."""
    if isinstance(texts, Mapping):
        return texts
    named: dict[str, list[str]] = {}
    name = ""
    for text in texts:
        before, sign, value = text.partition("=")
        if sign:
            name, text = before.strip(), value
        if not name or not text:
            raise UsageError(f"{texts[0] if not name else text!r} has no name or no value; write it as NAME=VALUE")
        named.setdefault(name, []).append(text)
    return named


def one_by_name(option: str, texts: Mapping[str, Any] | Sequence[str] | None) -> dict[str, Any]:
    """The value of each name. UsageError for a name with several in the texts of an option."""
    values = dict(by_name(texts or {}))
    for name, value in values.items():
        if isinstance(value, list):
            if len(value) > 1:
                raise UsageError(
                    OptionName(option), f" has {len(value)} values for {name}: {', '.join(value)}; give one"
                )
            values[name] = value[0]
    return values

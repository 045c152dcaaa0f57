"""Compare, Vocabulary, opening files, and the static site, in a real browser."""

import json
import re

import pytest
from playground_examples import SPECIAL, TEXT, trained
from playground_page import search, wait_for_results, write

from tokenmill import formats
from tokenmill.playground.export import export
from tokenmill.playground.pack import TokenCounts, pack
from tokenmill.split.patterns import PATTERNS
from tokenmill.tokenizer import Tokenizer
from tokenmill.vocabulary import Vocabulary


@pytest.fixture(scope="module")
def toks(small_tokenizers):
    return {name: Tokenizer(vocabulary) for name, vocabulary in small_tokenizers}


def ends(tok, text):
    return set(tok.encode_with_offsets(text, disallowed_special=()).bytes[:, 1].tolist())


def test_compare_shows_each_tokenizers_tokens_as_text_aligned_by_character(open_page, local, toks):
    text = "low lower newest 1234567 naïve 日本 👍🏽\nsecond line isn't here\n"
    page = open_page(local.address)
    write(page, text)
    page.click("#tab-compare")
    assert page.locator("#compare-choices select").count() == 4  # the first four tokenizers
    page.click("[aria-label='Remove tokenizer D']")
    names = ["ranks", "whole", "picky"]
    for letter, name in zip("ABC", names, strict=True):
        page.select_option(f"[aria-label='Tokenizer {letter}']", name)
    page.wait_for_function(  # the earlier choice is shown until the answer comes
        """(expected) => document.querySelectorAll('.lane').length % 3 === 0 && document.querySelector('.lane') &&
          Array.from(document.querySelectorAll('#compare-table tbody tr'), (row) => row.querySelector('td').firstChild.textContent)
            .join() === expected""",
        arg=",".join(str(len(toks[name].encode_ordinary(text))) for name in names),
    )
    rows = page.locator("#compare-table tbody tr").all()
    fewest = min(len(toks[name].encode_ordinary(text)) for name in names)
    for name, row in zip(names, rows, strict=True):
        cells = [cell.removesuffix(" (best)") for cell in row.locator("td").all_text_contents()]
        assert int(cells[0]) == len(toks[name].encode_ordinary(text))
        assert (row.locator("td").first.get_attribute("class") == "best") == (int(cells[0]) == fewest)
        others = [ends(toks[other], text) for other in names if other != name]
        alone = ends(toks[name], text) - others[0] - others[1]
        assert int(cells[4]) == len(alone)
    total = page.inner_text("#compare-table tfoot")
    assert f"{len(text)} characters" in total and f"{len(text.encode())} bytes" in total and "2 lines" in total
    # Every lane of a line has its columns at the same places, and as many tokens as its tokenizer makes. A column shows the
    # text, except where the tokenizer cuts inside a character.
    lanes = page.evaluate(
        """() => Array.from(document.querySelectorAll('.line'), (line) => Array.from(line.querySelectorAll('.cells'), (lane) =>
          Array.from(lane.children, (column) => ({
            text: column.textContent, right: Math.round(column.getBoundingClientRect().right),
            starts: column.parentElement.querySelectorAll('.starts, .inner').length,
            bytes: column.querySelectorAll('.part').length})))).filter((line) => line.length)"""
    )
    hex_digits = set("0123456789ABCDEF")
    for number, name in enumerate(names):
        assert sum(line[number][0]["starts"] for line in lanes) == len(toks[name].encode_ordinary(text))
    for line in lanes:
        for columns in zip(*line, strict=True):
            assert max(one["right"] for one in columns) - min(one["right"] for one in columns) <= 3
            shown = {one["text"] for one in columns if one["bytes"] == 0}
            assert len(shown) <= 1
            for one in columns:
                assert one["bytes"] == 0 or set(one["text"]) - hex_digits <= set("·日本👍🏽ïn⏎")
    shown = "".join(column["text"] for line in lanes for column in line[1] if column["bytes"] == 0)
    assert "naïve" in shown
    part = page.locator(".cell.part").first
    part.hover()
    assert "U+" in part.get_attribute("title") and "id " in part.get_attribute("title")
    page.check("#compare-only")
    assert page.locator(".line:not(.differing)").count() == 0
    page.click("#compare-on")
    assert page.locator(".line.here").count() == 1
    # The same sentences in many languages, with a row for all.
    page.wait_for_selector("#parity[aria-busy='false'] li:nth-child(15)")
    page.click("#parity summary")
    table = {row.split("\t")[0]: row.split("\t")[1:] for row in page.inner_text("#parity table").splitlines()}
    sample = page.evaluate("tokenmill.samples.find((one) => one.name === 'Hindi').text")
    assert table["Hindi"] == [f"{len(toks[name].encode_ordinary(sample)):,}" for name in names]
    sums = [
        sum(int(row[i].replace(",", "")) for name, row in table.items() if name not in ("Language", "All"))
        for i in range(3)
    ]
    assert table["All"] == [f"{value:,}" for value in sums]
    page.click("[aria-label='Remove tokenizer C']")
    page.wait_for_selector("#compare-table tbody tr:nth-child(3)", state="detached")


def test_compare_a_text_against_itself_differs_nowhere(open_page, local):
    page = open_page(local.address)
    page.click("#tab-compare")
    for letter in "DC":
        page.click(f"[aria-label='Remove tokenizer {letter}']")
    page.select_option("[aria-label='Tokenizer B']", "ranks")
    page.wait_for_function(
        "() => document.getElementById('compare-where').textContent === 'All tokenizers split this text in the same way.'"
    )
    assert page.locator(".cell.differs, .line.differing").count() == 0


def found(page):
    wait_for_results(page)
    return [row.split()[0] for row in page.locator(".result").all_inner_texts()]


def test_vocabulary_search_by_text_bytes_and_id(open_page, local, toks):
    page = open_page(local.address, "#view=vocabulary&with=ranks")
    tokens = toks["ranks"].vocabulary.tokens
    search(page, "low")
    matching = [i for i, t in enumerate(tokens) if b"low" in t]
    assert found(page) == [str(i) for i in matching]
    page.select_option("#search-order", "shortest")
    assert found(page) == [str(i) for i in sorted(matching, key=lambda i: (len(tokens[i]), i))]
    page.select_option("#search-order", "longest")
    assert found(page) == [str(i) for i in sorted(matching, key=lambda i: (-len(tokens[i]), i))]
    assert page.locator("#search-order option:disabled").count() == 2  # no counts here
    page.select_option("#search-order", "id")
    page.select_option("#search-where", "begins")
    assert found(page) == [str(i) for i in matching if tokens[i].startswith(b"low")]
    page.select_option("#search-kind", "bytes")
    page.select_option("#search-where", "contains")
    search(page, "e6 97")
    assert found(page) == [str(i) for i, t in enumerate(tokens) if b"\xe6\x97" in t]
    search(page, "zz")
    assert "hex digits" in page.inner_text("#search-found")
    page.select_option("#search-kind", "id")
    search(page, "300-304")
    assert found(page) == ["300", "301", "302", "303", "304"]
    search(page, "0-2")
    page.wait_for_function("() => document.getElementById('results').textContent.includes('⟨SOH⟩')")
    page.select_option("#search-kind", "text")
    search(page, "no such token")
    assert "No token matches" in page.inner_text("#results")


def test_the_vocabulary_says_how_many_ids_have_no_token(open_page, local, toks):
    page = open_page(local.address)
    page.click("#tab-vocabulary")
    wait_for_results(page)
    tok = toks["ranks"]
    size = len(tok.vocabulary.tokens) + len(SPECIAL)
    missing = tok.n_vocab - size
    assert missing > 1 and page.inner_text("#search-found") == f"{size:,} tokens; {missing:,} ids have none"
    search(page, "qqzzqq")
    assert page.inner_text("#search-found") == "0 tokens"
    assert "Choose" not in page.inner_text("#sheet")


def test_vocabulary_shows_how_a_token_is_built(open_page, local, toks):
    page = open_page(local.address, "#view=vocabulary&with=merges")
    tok = toks["merges"]
    made = {new: (left, right) for kind, left, right, new in tok.events}
    id = max(
        (new for new in made if tok.decode([new]).isascii() and tok.decode([new]).isalpha()),
        key=lambda new: len(tok.decode([new])),
    )
    page.select_option("#search-kind", "id")
    search(page, str(id))
    assert found(page) == [str(id)]
    page.focus("#results")
    page.keyboard.press("Home")
    page.wait_for_selector(".tree")

    def leaves(id):
        return leaves(made[id][0]) + leaves(made[id][1]) if id in made else [id]

    def nodes(id):
        return 1 + nodes(made[id][0]) + nodes(made[id][1]) if id in made else 1

    assert page.locator(".tree li").count() == nodes(id)
    shown = [chip for chip in page.locator(".tree li:not(:has(ul)) > .chip").all_text_contents()]
    assert shown == list(tok.decode([id])) and leaves(id) == [*tok.decode_bytes([id])]
    uses = [new for new, halves in made.items() if id in halves]
    assert f"Built from it: {len(uses) or 'nothing'}" in page.inner_text("#sheet")
    page.click(".tree .chip >> nth=1")
    page.wait_for_function("id => !document.querySelector('#sheet .facts')?.textContent.includes(id)", arg=str(id))


@pytest.mark.parametrize(("name", "unit"), [("picky", "event"), ("merges", "rank")])
def test_the_merges_of_a_token_are_numbered_as_in_its_steps(open_page, local, name, unit):
    page = open_page(local.address, f"#view=vocabulary&with={name}")
    page.select_option("#search-order", "longest")
    page.click(".result >> nth=1")
    page.wait_for_selector(".tree")
    assert re.search(rf"id \d+, {unit} \d+", page.inner_text(".tree"))


def test_a_part_that_a_token_has_twice_is_built_once(open_page, local, toks):
    tokens = toks["merges"].vocabulary.tokens
    assert b"aaaa" in tokens
    page = open_page(local.address, "#view=vocabulary&with=merges")
    page.select_option("#search-where", "is")
    search(page, "aaaa")
    page.click(".result")
    page.wait_for_selector(".tree")
    assert page.inner_text(".tree").count("as above") == 1
    assert page.locator(".tree .chip").all_text_contents() == ["aaaa", "aa", "a", "a", "aa"]


def test_a_printed_list_has_its_rows_in_order_and_whole(open_page, local):
    page = open_page(local.address, "#view=vocabulary&with=merges")
    page.wait_for_selector(".result")
    page.wait_for_function(
        """() => {
          document.getElementById('results').scrollTop = 5000;
          return Number(document.querySelector('.result .number')?.textContent) > 50;
        }"""
    )
    page.emulate_media(media="print")
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    rows = [int(number) for number in page.locator(".result .number").all_text_contents()]
    assert rows == list(range(400))
    assert page.evaluate("getComputedStyle(document.querySelector('.result')).position") == "static"
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="null")
    page.wait_for_function("() => document.querySelectorAll('.result').length < 100")


def test_a_removed_token_is_told_and_its_history(open_page, local, toks):
    tok = toks["picky"]
    gone = sorted(tok.vocabulary.removed)
    assert gone
    page = open_page(local.address, "#view=vocabulary&with=picky")
    page.select_option("#search-kind", "id")
    search(page, str(gone[0]))
    page.click(".result")
    page.wait_for_selector(".history")
    assert "Removed in training" in page.inner_text("#sheet")
    assert "removed" in page.inner_text(".history")


def drop(page, files):
    """Drop files (name -> bytes) on the page."""
    page.evaluate(
        """async (files) => {
          const data = new DataTransfer();
          for (const [name, bytes] of files) data.items.add(new File([new Uint8Array(bytes)], name));
          for (const kind of ["dragenter", "dragover", "drop"])
            document.body.dispatchEvent(new DragEvent(kind, {dataTransfer: data, bubbles: true, cancelable: true}));
        }""",
        [[name, list(content)] for name, content in files.items()],
    )


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A small tokenizer in every format that can be dropped."""
    folder = tmp_path_factory.mktemp("saved")
    tokens, merges = trained((PATTERNS["gpt2"],), 400)
    import numpy as np

    vocabulary = Vocabulary(tuple(tokens), (PATTERNS["gpt2"],), "merges", np.array(merges, np.int32), (), False)
    formats.write(vocabulary, folder / "huggingface")
    formats.write(vocabulary, folder / "merges", "merges")
    ranks = Vocabulary(tuple(tokens), (PATTERNS["gpt2"],))
    formats.write(ranks, folder / "mine.tiktoken", "tiktoken")
    return folder, Tokenizer(vocabulary)


def drop_and_encode(page, files, name, text=TEXT):
    drop(page, files)
    page.wait_for_function(
        "name => document.getElementById('tokenizer').selectedOptions[0].textContent === name", arg=name
    )
    return page.evaluate("text => tokenmill.encode(text)", text)


def test_tokenizers_open_by_drag_and_drop(open_page, local, saved):
    folder, tok = saved
    page = open_page(local.address)
    one = {"tokenizer.json": (folder / "huggingface" / "tokenizer.json").read_bytes()}
    assert drop_and_encode(page, one, "tokenizer") == tok.encode_ordinary(TEXT)
    many = {path.name: path.read_bytes() for path in (folder / "merges").iterdir()}
    assert drop_and_encode(page, many, " + ".join(sorted(name.split(".")[0] for name in many))) == tok.encode_ordinary(
        TEXT
    )
    told = page.inner_text("#message")
    assert "merges.txt + " in told and "byte-level BPE with a list of merges" in told and "400 tokens" in told
    about = page.inner_text("#about")
    assert "merges.txt + " in about and "vocabulary size 400" in about
    # A file that does not tell its split pattern: the page asks.
    drop(page, {"mine.tiktoken": (folder / "mine.tiktoken").read_bytes()})
    page.wait_for_selector("#split-dialog[open]")
    page.select_option("#split-name", "gpt2")
    page.click("#split-dialog button[value=open]")
    page.wait_for_function("() => document.getElementById('tokenizer').selectedOptions[0].textContent === 'mine'")
    ids = page.evaluate("text => tokenmill.encode(text)", TEXT)
    assert ids == Tokenizer(formats.read(folder / "mine.tiktoken")).encode_ordinary(TEXT)
    # A text goes into the text box.
    drop(page, {"notes.txt": b"dropped text"})
    page.wait_for_function("() => tokenmill.text === 'dropped text'")


def test_the_old_tokens_are_marked_while_another_tokenizer_loads(open_page, site):
    page, held = open_page(site).raw, []
    page.context.route("**/packs/1.tmpack", lambda route: held.append(route))
    page.select_option("#tokenizer", "merges")
    page.wait_for_selector("#panel-tokens[aria-busy='true']")
    assert page.inner_text("#about") == "Loading merges…"
    for route in held:
        route.continue_()
    page.wait_for_selector("#panel-tokens:not([aria-busy])")
    page.wait_for_selector("#about:has-text('byte-level BPE with a list of merges')")


def test_back_and_forward_change_the_view_and_keep_the_text(open_page, local):
    page = open_page(local.address)
    page.click("#tab-compare")
    page.keyboard.press("Alt+3")
    page.click("#tab-tokens")
    page.wait_for_function("() => history.state?.view === 'tokens' && location.hash !== ''")
    address = page.url
    write(page, "typed later")
    page.wait_for_function("address => location.href !== address", arg=address)
    selected = "document.querySelector('[role=tab][aria-selected=true]').textContent"
    for move, view in (("back", "Vocabulary"), ("back", "Compare"), ("back", "Tokens"), ("forward", "Compare")):
        getattr(page, f"go_{move}")()
        page.wait_for_function(f"() => {selected} === '{view}'")
        assert page.evaluate("tokenmill.text") == "typed later"


def test_damaged_files_are_one_message(open_page, local):
    page = open_page(local.address)
    for files in ({"tokenizer.json": b'{"model": {"merges": 3'}, {"x.bin": b"\0" * 100}, {"a.tmpack": b"nothing"}):
        drop(page, files)
        page.wait_for_function("() => document.getElementById('message').classList.contains('problem')")
        assert "/tmp" not in page.inner_text("#message")
        write(page, f"again {list(files)}")  # the page goes on
        page.wait_for_function("() => !document.getElementById('message').classList.contains('problem')")
    page.problems[:] = [p for p in page.problems if "422" not in p]  # the browser logs the refusals


def test_a_path_opens_where_it_is_allowed(open_page, local, saved):
    folder, tok = saved
    page = open_page(local.address)
    page.fill("#path", str(folder / "huggingface"))
    page.press("#path", "Enter")
    page.wait_for_function(
        "() => document.getElementById('tokenizer').selectedOptions[0].textContent === 'huggingface'"
    )
    assert page.evaluate("text => tokenmill.encode(text)", TEXT) == tok.encode_ordinary(TEXT)


def test_the_static_site_is_the_same_page(open_page, site, saved, toks):
    page = open_page(site)
    assert page.evaluate("() => tokenmill.names()") == list(toks)
    assert page.is_hidden("#path-form")
    for view in ("compare", "vocabulary", "training", "tokens"):
        page.click(f"#tab-{view}")
    _, tok = saved
    packed = pack("packed", tok.vocabulary)
    assert drop_and_encode(page, {"packed.tmpack": packed}, "packed") == tok.encode_ordinary(TEXT)


def test_a_page_without_a_server_opens_tokenizer_files(open_page, site, small_tokenizers, tmp_path):
    page = open_page(site)
    text = TEXT + "x<mask> <pad> new ▁ É"
    for name in ("merges", "whole", "prefix", "first"):
        vocabulary = dict(small_tokenizers)[name]
        special = [
            token for token in vocabulary.added_tokens if token.special
        ]  # tokenizer.json has no two entries "new"
        formats.write(vocabulary.replace(added_tokens=special), tmp_path / name, "huggingface")
        tok = Tokenizer(formats.read(tmp_path / name))
        content = (tmp_path / name / "tokenizer.json").read_bytes()
        drop(page, {f"my-{name}.json": content})
        page.wait_for_selector(f"#about:has-text('my-{name}.json')")
        page.wait_for_selector(f"#message:has-text('Opened my-{name} from')")
        assert page.evaluate("text => tokenmill.encode(text)", text) == tok.encode_ordinary(text), name
    ranks = Tokenizer(dict(small_tokenizers)["ranks"])
    formats.write(ranks.vocabulary, tmp_path / "mine.tiktoken", "tiktoken")
    drop(page, {"mine.tiktoken": (tmp_path / "mine.tiktoken").read_bytes()})
    page.wait_for_selector("#split-dialog[open]")
    page.select_option("#split-name", "gpt2")
    page.click("#split-dialog button[value=open]")
    page.wait_for_selector("#message:has-text('Opened mine from')")
    assert page.evaluate("text => tokenmill.encode(text)", text) == ranks.encode_ordinary(text)
    drop(page, {"other.json": b'{"model": {"type": "Unigram", "vocab": []}}'})
    page.wait_for_selector("#message.problem:has-text('only BPE, and the model of the file is Unigram')")
    for content, reason in (
        (b'{"model": {"vocab": {}, "merges": []}, "normalizer": {"type": "Lowercase"}}', "its normalizer is Lowercase"),
        (b"\x00", "is neither JSON nor"),
    ):
        drop(page, {"other.json": content})
        page.wait_for_selector(f"#message.problem:has-text('{reason}')")
        assert "run: tokenmill play FILE" in page.inner_text("#message")
    # Without its events, a Picky tokenizer would have other ids.
    formats.write(dict(small_tokenizers)["picky"], tmp_path / "picky", "huggingface")
    drop(page, {path.name: path.read_bytes() for path in (tmp_path / "picky").iterdir()})
    page.wait_for_selector("#message.problem:has-text('events.txt')")


def test_counts_and_ios_show_where_they_are_given(open_page, tmp_path, toks, serve):
    import numpy as np

    vocabulary = toks["merges"].vocabulary
    size = len(vocabulary.tokens)
    ios = np.full(size, np.nan)
    ios[300] = 0.875
    export([("merges", vocabulary, TokenCounts(np.arange(size) * 10, ios, "some words"), "")], tmp_path / "site")
    address = serve(tmp_path / "site")
    page = open_page(address, "#view=vocabulary")
    page.select_option("#search-kind", "id")
    search(page, "300")
    page.click(".result")
    page.wait_for_selector(".tree")
    sheet = page.inner_text("#sheet")
    assert "3,000" in sheet and "0.875" in sheet and "some words" in sheet
    page.select_option("#search-kind", "text")
    search(page, "")
    page.select_option("#search-order", "use")
    page.wait_for_function("id => document.querySelector('.result')?.textContent.startsWith(id)", arg=str(size - 1))
    assert f"{10 * (size - 1):,} ×" in page.inner_text(".result >> nth=0")
    page.select_option("#search-order", "ios")
    page.wait_for_function("() => document.querySelector('.result')?.textContent.includes('IoS 0.875')")


def test_catalog_names_the_special_tokens(site, toks):
    """The packed header keeps what a person may ask for."""
    import gzip
    import urllib.request

    listing = json.loads(urllib.request.urlopen(site + "catalog.json").read())
    data = gzip.decompress(urllib.request.urlopen(site + listing["tokenizers"][0]["pack"]).read())
    head = json.loads(data[8 : 8 + int.from_bytes(data[4:8], "little")])
    assert [t["content"] for t in head["added_tokens"]] == [t.content for t in SPECIAL]
    assert head["fingerprint"] == toks["ranks"].vocabulary.fingerprint()


def test_a_page_opened_as_a_file_says_how_to_serve_it(chromium, small_tokenizers, tmp_path):
    folder = tmp_path / "the site"
    export(small_tokenizers[:1], folder)
    page = chromium.new_page()
    page.goto((folder / "index.html").as_uri())
    page.wait_for_selector("#message.problem")
    assert f"python3 -m http.server 8000 --bind 127.0.0.1 --directory '{folder}/'" in page.inner_text("#message")
    assert page.is_hidden("#panel-tokens")
    page.close()

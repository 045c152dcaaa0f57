"""What tests do with the playground's page: edit its text, and read what it shows."""

import json


def units(text):
    """The UTF-16 units of a text. Texts travel to the browser so, because lone surrogates would not survive otherwise."""
    data = text.encode("utf-16-le", "surrogatepass")
    return [int.from_bytes(data[i : i + 2], "little") for i in range(0, len(data), 2)]


def write(page, text):
    """Replace the text by an edit, as a user would."""
    page.evaluate("text => { tokenmill.text = text; }", text)


def text_of(page):
    return page.evaluate("tokenmill.text")


def wait_for_bytes(page, count):
    page.wait_for_function(
        "n => document.getElementById('count-bytes').textContent.replaceAll(',', '') == n", arg=str(count)
    )


def set_text(page, text):
    """Replace the text and wait for its tokens."""
    write(page, text)
    wait_for_bytes(page, len(text.encode()))


def search(page, text):
    """Type into the search field of the Vocabulary view, and wait for what is found."""
    page.fill("#search", text)
    wait_for_results(page)


def wait_for_results(page):
    page.wait_for_selector("#results:not([aria-busy])")


def train_on(page, words):
    """Replace the text of the Training view, and leave the field, so that the training runs at once."""
    page.fill("#words", words)
    page.dispatch_event("#words", "change")


def copied(page, button):
    """What a button puts on the clipboard."""
    page.evaluate("() => { window.copied = undefined; navigator.clipboard.writeText = async (t) => { copied = t; }; }")
    page.click(button)
    page.wait_for_function("() => copied !== undefined")
    return page.evaluate("copied")


def ids(page):
    return json.loads(copied(page, "#copy-ids"))

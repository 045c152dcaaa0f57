"""The list of the verbs, and the help of the whole program, which needs no library."""

# The verbs with the first line of their help: those that a newcomer needs, then all others in the order of the pipeline.
PANELS = {
    "Begin with": {
        "train": "Train a byte-level BPE tokenizer, or several sizes of it at once",
        "encode": "Encode text: a line of ids for each document, or a token file for training",
        "play": "See tokens, compare tokenizers and step through training, in the browser",
    },
    "Make a tokenizer": {
        "clean": "Clean a dump into shards of text, and report what was removed",
        "count": "Count the distinct pretokens of text and save them, to train on once or often",
        "extend": "Train a tokenizer further, or only add special tokens; old ids keep their tokens",
        "prune": "Remove tokens; every token that remains can still be built",
    },
    "Use a tokenizer": {
        "decode": "Decode a token file or lines of ids to the text that was encoded, byte for byte",
        "join": "Join token files, such as the parts of one encoding, without encoding again",
        "verify": "Verify a token file: hashes, ids, ends of documents, and the text it was made from",
        "convert": "Convert a tokenizer to another format, and certify that the ids are the same",
    },
    "Evaluate a tokenizer": {
        "inspect": "Evaluate a tokenizer: junk by IoS, unreachable and unused tokens, compression",
        "compare": "Compare tokenizers on the same text: compression, fertility, junk",
        "check": "Prove or refute that two tokenizers return the same ids",
    },
}
VERBS = {name: summary for verbs in PANELS.values() for name, summary in verbs.items()}
OPTIONS = {
    "-V, --version": "Print the version",
    "--completion SHELL": "Print the completion script of bash, zsh or fish",
    "-h, --help": "Print this help; tokenmill VERB --help explains a verb",
}


def help_text() -> str:
    from textwrap import wrap

    lines = ["Usage: tokenmill VERB [OPTIONS] ...", "", "Train, run and evaluate BPE tokenizers."]
    for panel, rows in {**PANELS, "Options": OPTIONS}.items():
        width = max(map(len, rows)) + 2
        lines += ["", f"{panel}:"]
        for name, summary in rows.items():
            lines += wrap(summary, 80, initial_indent=f"  {name:<{width}}", subsequent_indent=" " * (width + 2))
    return "\n".join(lines)

"""Write src/tokenmill/split/unassigned.zlib: the code points that Unicode 9.0 does not assign.

    python scripts/make_normalization_table.py

Hugging Face tokenizers normalises with the tables of Unicode 9.0 (the crate unicode-normalization-alignments). The
normalisation of a character never changes once it is assigned, so the later tables of any Python give the same text if
every character that is younger than 9.0 is left alone. Perl tells the age of each code point (any Perl since 5.26).
"""

import subprocess
import zlib
from pathlib import Path

TARGET = Path(__file__).resolve().parents[1] / "src/tokenmill/split/unassigned.zlib"
AGES = r'for (0..0x10ffff) { next if 0xd800 <= $_ && $_ < 0xe000; print "$_\n" if chr($_) =~ /\P{Present_In: 9.0}/ }'


def main() -> None:
    listed = subprocess.run(["perl", "-e", AGES], capture_output=True, text=True, check=True).stdout.split()
    borders = []  # where each range begins, and the code point after it
    for code in map(int, listed):
        if borders and borders[-1] == code:
            borders[-1] = code + 1
        else:
            borders += [code, code + 1]
    # The ranges are written as the gaps between their borders, in hexadecimal.
    gaps = " ".join(f"{code - last:x}" for last, code in zip([0, *borders], borders, strict=False))
    TARGET.write_bytes(zlib.compress(gaps.encode(), 9))
    print(f"{TARGET}: {len(borders) // 2} ranges")


if __name__ == "__main__":
    main()

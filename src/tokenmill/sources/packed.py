"""Detection of compressed files. This module imports no decompressor, since most files need none."""

import re

COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
LONG_NAMES = (".gzip", ".bzip2", ".zstd")  # their compression is detected from the first bytes
PACKED = re.compile(  # the first bytes of a compressed file; the name of the group is its suffix
    rb"(?P<gz>\x1f\x8b\x08)|(?P<bz2>BZh[1-9](1AY&SY|\x17rE8P\x90))|(?P<xz>\xfd7zXZ\0)|(?P<zst>\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18)"
)
PACKED_BYTES = 10  # enough to decide

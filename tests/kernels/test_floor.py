"""What the kernels share, compiled alone and called through ctypes: with the processor's help and as portable C."""

import ctypes
import heapq
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from tokenmill.kernels.random_seed import random_seed

SOURCE = Path(__file__).parents[2] / "src"
WRAPPERS = r"""
#include "tokenmill/kernels/_heap.h"
#include "tokenmill/kernels/_pair_map.h"
#include "tokenmill/kernels/_pretoken_key.h"
#include "tokenmill/kernels/_utf8.h"

size_t page_size(void) { return tm_page_size(); }
void *pages_new(size_t size) { return tm_pages_new(size); }
void *pages_grow(void *p, size_t old, size_t size) { return tm_pages_grow(p, old, size); }
void pages_populate(void *p, size_t size) { tm_pages_populate(p, size); }
void pages_free(void *p, size_t size) { tm_pages_free(p, size); }
uint64_t mulhi(uint64_t a, uint64_t b) { return tm_mulhi(a, b); }
int first_bit(uint64_t x) { return tm_ctz(x); }
int last_bit(uint64_t x) { return tm_log2(x); }
uint64_t hash_of(const uint8_t *p, size_t n, const uint8_t *end, uint64_t a, uint64_t b) {
    tm_seed seed = {a, b};
    return tm_hash(tm_key_of(p, n, end, seed), seed);
}
ptrdiff_t decode(const uint8_t *p, size_t n, int width, void *out, size_t *count) {
    return tm_utf8_decode(p, n, width, out, count);
}
ptrdiff_t encode(const void *p, size_t n, int width, uint8_t *out) { return tm_utf8_encode(p, n, width, out); }
size_t push(uint64_t *heap, size_t used, uint64_t item) { return tm_heap_push(heap, used, item); }
size_t pop(uint64_t *heap, size_t used) { return tm_heap_pop(heap, used); }
void put_pairs(tm_pair_map *map, const uint32_t *pairs, size_t n, uint32_t *out) {
    for (size_t i = 0; i < n; i++) {
        tm_pair_map_reserve(map, 1);
        out[i] = tm_pair_map_get_or_put(map, pairs[2 * i], pairs[2 * i + 1], (uint32_t)i);
    }
}
uint32_t get_pair(tm_pair_map *map, uint32_t left, uint32_t right) { return tm_pair_map_get(map, left, right); }
size_t map_size(void) { return sizeof(tm_pair_map); }
"""


@pytest.fixture(scope="module", params=["native", "portable"])
def floor(request, tmp_path_factory):
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("floor")
    (folder / "floor.c").write_text(WRAPPERS)
    options = ["-DTM_PORTABLE"] if request.param == "portable" else []
    command = [compiler, "-std=gnu11", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", *options, f"-I{SOURCE}"]
    subprocess.run([*command, "-o", folder / "floor.so", folder / "floor.c"], check=True)
    library = ctypes.CDLL(str(folder / "floor.so"))
    for name in ("page_size", "hash_of", "mulhi", "push", "pop", "map_size"):
        getattr(library, name).restype = ctypes.c_uint64
    for name in ("decode", "encode"):
        getattr(library, name).restype = ctypes.c_ssize_t
    for name in ("pages_new", "pages_grow"):
        getattr(library, name).restype = ctypes.c_void_p
    library.get_pair.restype = ctypes.c_uint32
    return library


def u64(value):
    return ctypes.c_uint64(value)


def test_pages_are_zero_and_keep_their_content_when_they_grow(floor):
    page = floor.page_size()
    assert page == os.sysconf("SC_PAGE_SIZE") or page == 4096
    for old, size in [(page, 3 * page), (100, 5 << 20), (5 << 20, 20 << 20), (4 << 20, 8 << 20)]:
        p = floor.pages_new(u64(old))
        assert ctypes.string_at(p, old) == bytes(old)
        ctypes.memset(p, 7, old)
        p = floor.pages_grow(ctypes.c_void_p(p), u64(old), u64(size))
        floor.pages_populate(ctypes.c_void_p(p), u64(size))
        assert ctypes.string_at(p, size) == bytes([7]) * old + bytes(size - old)
        floor.pages_free(ctypes.c_void_p(p), u64(size))


def test_products_and_bits(floor):
    numbers = random.Random(1)
    for _ in range(200):
        a, b = numbers.getrandbits(64) | 1, numbers.getrandbits(numbers.randrange(1, 65))
        assert floor.mulhi(u64(a), u64(b)) == a * b >> 64
        x = a << numbers.randrange(64) & 2**64 - 1 or 1
        assert floor.last_bit(u64(x)) == x.bit_length() - 1
        assert floor.first_bit(u64(x)) == (x & -x).bit_length() - 1


def hash_of(floor, pretoken, seed=(0, 0)):
    buffer = ctypes.create_string_buffer(pretoken, len(pretoken))
    start = ctypes.addressof(buffer)
    return floor.hash_of(
        ctypes.c_void_p(start), u64(len(pretoken)), ctypes.c_void_p(start + len(pretoken)), u64(seed[0]), u64(seed[1])
    )


def test_the_canonical_hash_never_changes(floor):
    """Word counts on disk are ordered by it."""
    assert [
        f"{hash_of(floor, pretoken):016x}" for pretoken in (b"a", b" the", b"x" * 15, b"x" * 16, bytes(range(99)))
    ] == [
        "e101a0b9c44f7958",
        "4960dc5863d42a0c",
        "b28aa3143917470a",
        "8a5b73a04a67d638",
        "fb880aedab6c71ab",
    ]


def test_pretokens_that_collide_do_not_collide_under_a_seed(floor):
    # 16 bytes equal to the constants of the hash of long pretokens set its state to zero, whatever came before.
    erase = (0xE7037ED1A0B428DB).to_bytes(8, "little") + (0xA0761D6478BD642F).to_bytes(8, "little")
    pretokens = [bytes([i]) * 16 + erase + b"the same end...." for i in range(100)]
    assert len({hash_of(floor, pretoken) for pretoken in pretokens}) == 1
    assert len({hash_of(floor, pretoken, random_seed()) for pretoken in pretokens}) == 100


def samples():
    numbers = random.Random(2)
    points = [*range(0x7E, 0x82), 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF, 0x41]
    for _ in range(300):
        text = "".join(chr(numbers.choice(points)) for _ in range(numbers.randrange(60)))
        data = bytearray(text.encode())
        yield bytes(data)
        if data:
            data[numbers.randrange(len(data))] = numbers.randrange(256)
            yield bytes(data)
            yield bytes(data[: numbers.randrange(len(data))])


def test_utf8_is_read_as_python_reads_it(floor):
    for data in samples():
        whole = len(data)
        try:
            data.decode()
        except UnicodeDecodeError as error:
            whole = error.start
        out, count = (ctypes.c_uint32 * (len(data) + 1))(), ctypes.c_size_t(0)
        taken = floor.decode(data, u64(len(data)), 4, out, ctypes.byref(count))
        if whole == len(data):
            assert taken == len(data)
        if taken >= 0:
            assert "".join(map(chr, out[: count.value])) == data[:taken].decode()


def test_utf8_is_written_as_python_writes_it(floor):
    for data in samples():
        text = data.decode(errors="ignore")
        for width, code in [(1, "latin-1"), (2, "utf-16-le"), (4, "utf-32-le")]:
            limit = {1: 0x100, 2: 0x10000, 4: 0x110000}[width]
            some = "".join(c for c in text if ord(c) < limit)
            out = ctypes.create_string_buffer(4 * len(some) + 16)
            n = floor.encode(some.encode(code), u64(len(some)), width, out)
            assert out.raw[:n] == some.encode()
    surrogate = "a" * 20 + "\ud800"
    for width, code in [(2, "utf-16-le"), (4, "utf-32-le")]:
        out = ctypes.create_string_buffer(200)
        assert floor.encode(surrogate.encode(code, "surrogatepass"), u64(21), width, out) == -1


def test_a_heap_gives_the_least_first(floor):
    numbers = random.Random(3)
    heap, used, expected = (ctypes.c_uint64 * 500)(), 0, []
    for _ in range(2000):
        if used < 500 and (not used or numbers.random() < 0.6):
            item = numbers.randrange(300)
            used = floor.push(heap, u64(used), u64(item))
            heapq.heappush(expected, item)
        else:
            assert heap[0] == heapq.heappop(expected)
            used = floor.pop(heap, u64(used))


def test_a_pair_map_holds_the_first_value_of_each_pair(floor):
    numbers = random.Random(4)
    many = [0, 1, *(numbers.randrange(2**31) for _ in range(3000))]
    pairs = [(numbers.choice(many[:2]), right) for right in many] + [(left, numbers.choice(many[:2])) for left in many]
    pairs += pairs[::-1]
    flat = (ctypes.c_uint32 * (2 * len(pairs)))(*[id for pair in pairs for id in pair])
    out = (ctypes.c_uint32 * len(pairs))()
    pair_map = ctypes.create_string_buffer(floor.map_size())
    floor.put_pairs(pair_map, flat, u64(len(pairs)), out)
    first = {}
    for i, pair in enumerate(pairs):
        assert out[i] == first.setdefault(pair, i)
    assert floor.get_pair(pair_map, 5, 2**31) == 2**32 - 1


def test_the_seed_stays_for_the_life_of_the_process():
    assert random_seed() == random_seed()
    assert all(0 < number < 2**64 for number in random_seed())

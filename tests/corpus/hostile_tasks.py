"""Tasks for the pool that misbehave in every way a parser can."""

import ctypes
import os
import re
import sys
import time


class Hostile:
    """Does what each of its documents says; gives the document back where it is harmless."""

    def __init__(self, settings):
        self.settings = settings

    def __call__(self, documents):
        return [self.do(what) for what in documents]

    def do(self, what):
        if what == "loop":
            while True:
                pass
        if what == "loop in C":
            re.match(r"(a|aa)+$", "a" * 60 + "b")
        if what == "sleep":
            time.sleep(60)
        if what == "eat":
            return len(bytearray(1 << 40))
        if what == "eat slowly":
            eaten = []
            while True:
                eaten.append(bytes(50 << 20))  # reserved, not touched: it takes no processor time
        if what == "crash":
            ctypes.string_at(0)
        if what == "leave":
            print("going away", file=sys.stderr)
            sys.stderr.flush()
            os._exit(7)
        if what == "raise":
            raise KeyError("no such thing")
        if what == "recurse":
            return self.do(what)
        if what == "print":
            print("noise on standard output")
        return what + self.settings


def broken(settings):
    raise RuntimeError("this task cannot even start")

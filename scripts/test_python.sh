#!/usr/bin/env bash
# Runs the tests on another Python, or with the oldest releases of the libraries that pyproject.toml allows:
#
#     scripts/test_python.sh PYTHON FOLDER [ARGUMENTS OF PYTEST]
#     LOWEST=1 scripts/test_python.sh python3.11 FOLDER [ARGUMENTS OF PYTEST]
#
# FOLDER gets a virtual environment and a clone of the last commit; a second run compiles only what has changed. Libraries
# that have no wheel for this Python are named and left out. Tests that need one of them fail.
set -euo pipefail
python=$1
folder=$(realpath -m "$2")
shift 2
cd "$(dirname "$0")/.."
if [ ! -e "$folder/.complete" ]; then
    "$python" -m venv "$folder/venv"
    "$folder/venv/bin/python" -m pip install --quiet uv 'setuptools>=77' 'cython>=3.1'
    install=("$folder/venv/bin/uv" pip install --quiet --python "$folder/venv/bin/python" --only-binary :all:)
    requirements=$("$folder/venv/bin/python" - <<'EOF'
import tomllib

project = tomllib.load(open("pyproject.toml", "rb"))["project"]
extras = project["optional-dependencies"]
left_out = {"all", "lint", "docs", "bench"}
print(*project["dependencies"], *(each for name in extras if name not in left_out for each in extras[name]), sep="\n")
EOF
    )
    if [ -n "${LOWEST:-}" ]; then
        "${install[@]}" --resolution lowest-direct --requirements - <<<"$requirements"
    else
        while read -r requirement; do
            "${install[@]}" "$requirement" 2>"$folder/log" || echo "left out: $requirement"
        done <<<"$requirements"
    fi
    git clone --quiet . "$folder/tokenmill"
    touch "$folder/.complete"
fi
commit=$(git rev-parse HEAD)
cd "$folder/tokenmill"
git fetch --quiet origin HEAD
git checkout --quiet "$commit"
echo "Compiling the kernels: this takes about a minute on two cores."
"$folder/venv/bin/python" setup.py --quiet build_ext --inplace >"$folder/log"
if [ $# = 0 ]; then set -- tests; fi
exec env PYTHONPATH="$PWD/src" "$folder/venv/bin/python" -m pytest -q "$@"

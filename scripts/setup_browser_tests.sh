#!/usr/bin/env bash
# What the playground's tests need besides Python: Chromium, and the front end's packages. Installs what it may, and
# otherwise says what will be skipped; never fails.
cd "$(dirname "$0")/.." || exit 0

if [ -z "${TOKENMILL_CHROMIUM:-}" ] && ! command -v chromium chromium-browser google-chrome >/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "installing Chromium for the browser tests"
        { apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium; } >/dev/null 2>&1 ||
            echo "Chromium could not be installed: the browser tests will be skipped"
    else
        echo "no Chromium: the browser tests will be skipped (apt-get install chromium)"
    fi
fi

if command -v npm >/dev/null; then
    if [ web/node_modules/.package-lock.json -ot web/package-lock.json ]; then
        echo "installing the front end's packages"
        (cd web && npm ci --silent --no-audit --no-fund) >/dev/null 2>&1 ||
            echo "npm ci failed: the front end's own tests will be skipped"
    fi
else
    echo "no npm: the front end's own tests and the accessibility check will be skipped"
fi
exit 0

#!/usr/bin/env bash
# Install what the playground's tests need besides Python, if it is missing: Chromium and the front end's packages. If an
# installation is not possible, print which tests will be skipped. Never fails.
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
    # npm writes the first file after it has installed everything in the second.
    if [ web/node_modules/.package-lock.json -ot web/package-lock.json ]; then
        echo "installing the front end's packages"
        if ! said=$(cd web && npm ci --no-audit --no-fund --fetch-retries=1 --fetch-timeout=20000 2>&1); then
            echo "$said" | grep -i 'npm error' | head -n 3
            echo "npm ci failed: the front end's own tests and the accessibility check will be skipped"
        fi
    fi
else
    echo "no npm: the front end's own tests and the accessibility check will be skipped (apt-get install npm)"
fi
exit 0

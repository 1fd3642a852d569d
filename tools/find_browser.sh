#!/usr/bin/env bash
# Print the path of a Chrome or Chromium for the browser tests; install one where that
# needs nothing but the system's own packages. CHROMIUM names another.
set -euo pipefail

usable() { # Ubuntu's `chromium-browser` is a stub that asks for a snap
  [ -n "$1" ] && [ -x "$1" ] && timeout 60 "$1" --headless --no-sandbox --version >/dev/null 2>&1
}

found() {
  local name path
  if [ -n "${CHROMIUM:-}" ]; then
    path=$(command -v "$CHROMIUM" || true)
    usable "$path" || { echo "CHROMIUM=$CHROMIUM does not start" >&2; exit 1; }
    echo "$path"
    return
  fi
  for name in chromium google-chrome google-chrome-stable chrome chromium-browser \
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" \
    "$HOME"/.cache/ms-playwright/chromium-*/chrome-linux*/chrome; do
    path=$(command -v "$name" || true)
    if usable "$path"; then echo "$path"; return; fi
  done
  return 1
}

# Chinese pages need a Chinese font to be laid out as readers see them.
install_debian() {
  local run=""
  grep -qs '^ID=debian' /etc/os-release || return 1
  if [ "$(id -u)" != 0 ]; then
    sudo -n true 2>/dev/null || return 1
    run="sudo"
  fi
  $run apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive $run apt-get install -qq -y --no-install-recommends \
    chromium fonts-noto-cjk >&2
}

if found; then exit 0; fi
if [ -z "${CHROMIUM:-}" ] && install_debian && found; then exit 0; fi
cat >&2 <<'HELP'
No Chrome or Chromium was found for the browser tests.
  Debian:        sudo apt-get install chromium fonts-noto-cjk
  elsewhere:     install Google Chrome, or run  .venv/bin/playwright install chromium
  another place: set CHROMIUM=/path/to/chrome
HELP
exit 1

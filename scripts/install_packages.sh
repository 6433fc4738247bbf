#!/usr/bin/env bash
# Installs the Debian packages that the build needs, those that are missing only.
# With --list it prints them. Without root or sudo it prints what to install and fails.
set -eu
packages=(
  clang-19 libclang-rt-19-dev lld-19 g++ cmake ninja-build ccache python3
  libdnnl-dev rapidjson-dev libfmt-dev libcli11-dev libgtest-dev libminizip-dev zlib1g-dev libkissfft-dev
)
if [ "${1:-}" = "--list" ]; then
  echo "${packages[@]}"
  exit 0
fi
case "${1:-}" in
  --format) packages+=(clang-format-19) ;;
  --live) packages+=(python3-venv) ;;
esac

missing=()
for p in "${packages[@]}"; do
  if ! dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'install ok installed'; then
    # A tool that came from elsewhere (a newer cmake, say) is as good as the package.
    case "$p" in
      cmake | python3) command -v "$p" >/dev/null && continue ;;
      ninja-build) command -v ninja >/dev/null && continue ;;
    esac
    missing+=("$p")
  fi
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" = 0 ]; then
  as_root=()
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
  as_root=(sudo)
else
  echo "These Debian packages are missing, and neither root nor sudo is at hand:" >&2
  echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 1
fi
echo "installing: ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null

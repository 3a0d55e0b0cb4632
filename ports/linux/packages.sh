# Sourced by the other scripts. heed_folders VARIABLE...: each that is set names a folder, and gets its whole path; else a sentence
# and exit status 1. heed_install ITEM...: installs what is missing, on Debian and Ubuntu.
# An item is a package, COMMAND=PACKAGE (missing if there is no such command), or ?ITEM (left out if unknown here).

heed_folders() {
  for variable; do
    eval "folder=\${$variable:-}"
    [ -n "$folder" ] || continue
    [ -d "$folder" ] || { echo "$variable is no folder: $folder" >&2; exit 1; }
    folder=$(cd "$folder" && pwd)
    eval "export $variable=\$folder"
  done
}

heed_as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

heed_is_missing() {
  case $1 in
    *=*) ! command -v "${1%%=*}" >/dev/null 2>&1 ;;
    *) ! dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed' ;;
  esac
}

heed_install() {
  if ! command -v apt-get >/dev/null 2>&1; then
    echo "no apt-get here: nothing is installed; what is missing will show below"
    return 0
  fi
  required='' optional=''
  for item; do
    heed_is_missing "${item#\?}" || continue
    package=${item#\?} package=${package#*=}
    case $item in \?*) optional="$optional $package" ;; *) required="$required $package" ;; esac
  done
  [ -n "$required$optional" ] || return 0
  echo "installing with apt-get:$required$optional"
  heed_as_root apt-get update -qq || echo "apt-get update failed; going on with the lists that are here"
  for package in $optional; do
    if apt-cache show "$package" >/dev/null 2>&1; then required="$required $package"; else echo "not in this archive: $package"; fi
  done
  # shellcheck disable=SC2086
  [ -z "$required" ] ||
    heed_as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $required >/dev/null
}

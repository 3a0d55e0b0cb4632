# What tests of programs with a model's folder share: `. "$(dirname "$0")/expect.sh"`. SPDX-License-Identifier: MIT

# needs_model VARIABLE PROGRAM...: $model becomes the folder that the variable names, $folder an empty one for the test's own files.
# Ends with exit status 77 if the folder or a program is missing.
needs_model() {
  eval "model=\${$1:-}"
  [ -n "$model" ] && [ -d "$model" ] || {
    echo "SKIPPED: $1 does not name the folder of the model"
    exit 77
  }
  shift
  for program in "$@"; do
    [ -x "$program" ] || {
      echo "SKIPPED: $program was not built"
      exit 77
    }
  done
  model=$(cd "$model" && pwd) folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  : >"$folder/input"
}

# expect STATUS TEXT COMMAND...: the command, with $folder/input as standard input, ends with that status and prints a line with that text.
expect() {
  expected=$1 text=$2 status=0
  shift 2
  "$@" <"$folder/input" >"$folder/output" 2>&1 || status=$?
  [ "$status" = "$expected" ] && grep -q -e "$text" "$folder/output" || {
    cat "$folder/output"
    echo "$*: status $status, not $expected with \"$text\""
    exit 1
  }
}

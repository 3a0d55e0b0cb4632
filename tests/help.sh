# help.sh FOLDER: what a program's --help lists is what the program takes: each option in its text is compared with its source
# outside that text, in both directions.
set -eu
cd "$1"
failed=0
compare() { # PROGRAM SOURCE...
  program=$1
  shift
  awk -v program="$program" '
    function options(text, into) {
      while (match(text, /--[a-z][a-z-]*/)) {
        into[substr(text, RSTART, RLENGTH)] = 1
        text = substr(text, RSTART + RLENGTH)
      }
    }
    function literals(line) {                       # only what stands in quotes, at the beginning
      while (match(line, /"--[a-z][a-z-]*/)) {
        taken[substr(line, RSTART + 1, RLENGTH - 1)] = 1
        line = substr(line, RSTART + RLENGTH)
      }
    }
    /^constexpr char [a-z_]+\[\] =/ { in_text = 1 }
    in_text { options($0, listed); if (/";$/) in_text = 0; next }
    { literals($0) }
    END {
      delete listed["--help"]; delete taken["--help"]
      for (o in listed) { n++; if (!(o in taken)) { print program ": --help lists " o ", and the program does not take it"; bad = 1 } }
      for (o in taken) if (!(o in listed)) { print program ": takes " o ", and --help does not list it"; bad = 1 }
      if (!n) { print program ": no option found in its help"; bad = 1 }
      exit bad
    }' "$@" || failed=1
}
receipts='ports/receipt/receipts.hpp ports/receipt/receipts.cpp' # what receipts::order takes, and its help
compare heed_dreams ports/dreams/heed_dreams.cpp $receipts
compare heed_listen ports/speech/heed_listen.cpp $receipts
compare heed_kwt ports/kwt/heed_kwt.cpp $receipts
compare heed_kwt_int ports/kwt/heed_kwt_int.cpp $receipts
compare heed_sensor ports/sensor/heed_sensor.cpp $receipts
compare heed_replay ports/receipt/heed_replay.cpp
compare heed_calibrate ports/calibrate/main.cpp
compare heed_import ports/import/main.cpp
compare heed_compile ports/compile/main.cpp
compare heed_tokens ports/tokenizer/heed_tokens.cpp
exit $failed

#!/bin/sh
# full_disk.sh PROGRAM...: every program that prints or writes says so, with an exit status, when the disk is full, and leaves no
# half file; an input that is named as output stays. A program that this script does not know is an error. Models are
# optional: HEED_KWT1, HEED_DREAMS, HEED_EEG and HEED_MOONSHINE name their folders. Exit status 77 without /dev/full.
# SPDX-License-Identifier: MIT
set -u
[ -c /dev/full ] || {
  echo "SKIPPED: there is no /dev/full"
  exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
kwt1=${HEED_KWT1:-} dreams=${HEED_DREAMS:-} eeg=${HEED_EEG:-} moonshine=${HEED_MOONSHINE:-}
unset HEED_KWT1 HEED_DREAMS HEED_EEG HEED_MOONSHINE
status=0 n_checked=0

wrong() {
  echo "WRONG: $*"
  [ ! -s "$work/said" ] || sed 's/^/    /' "$work/said" | head -n 5
  status=1
}

# prints COMMAND...: it ends with 0, and not with 0 where standard output is full.
prints() {
  n_checked=$((n_checked + 1))
  "$@" >/dev/null 2>"$work/said" </dev/null || wrong "$*: exit status $?"
  "$@" >/dev/full 2>"$work/said" </dev/null && wrong "$* >/dev/full: exit status 0"
  grep -q "standard output cannot be written" "$work/said" || wrong "$* >/dev/full: does not say why"
}

# writes FILE COMMAND...: the command, whose output is $out/FILE, makes it. On a full device, in a missing folder, and
# beyond the limit of a file's size it fails, says what it could not write, and leaves what was there before and nothing else.
writes() {
  file=$1
  shift
  n_checked=$((n_checked + 1))
  rm -rf "$out" && mkdir "$out"
  "$@" >"$work/said" 2>&1 </dev/null || wrong "$*: exit status $?"
  [ -s "$out/$file" ] || wrong "$*: no $file"
  ls -A "$out" >"$work/made"
  for before in nothing something; do
    rm -rf "$out" && mkdir "$out"
    [ $before = nothing ] || while read -r made; do echo "$before" >"$out/$made"; done <"$work/made"
    (
      ulimit -f 0
      "$@" 2>&1 </dev/null
    ) | cat >"$work/said"
    grep -q "cannot be written" "$work/said" || wrong "ulimit -f 0; $*: does not say what cannot be written"
    if [ $before = nothing ]; then
      [ -z "$(ls -A "$out")" ] || wrong "ulimit -f 0; $*: leaves $(ls -A "$out")"
    else
      ls -A "$out" | cmp -s - "$work/made" || wrong "ulimit -f 0; $*: leaves $(ls -A "$out")"
      while read -r made; do
        [ "$(cat "$out/$made")" = "$before" ] || wrong "ulimit -f 0; $*: $made is another one"
      done <"$work/made"
    fi
  done
  rm -rf "$out"
  "$@" >"$work/said" 2>&1 </dev/null && wrong "$*: exit status 0 without the folder of $file"
  mkdir "$out" && ln -s /dev/full "$out/$file"
  "$@" >"$work/said" 2>&1 </dev/null && wrong "$*: exit status 0 for $file on a full device"
  [ "$(readlink "$out/$file")" = /dev/full ] || wrong "$*: the device is no longer there"
}

# keeps INPUT COMMAND...: the input, which is the output, too, stays as it is, and the command fails.
keeps() {
  input=$1
  shift
  cp "$input" "$work/kept"
  "$@" >"$work/said" 2>&1 </dev/null && wrong "$*: exit status 0, though $input is an input"
  cmp -s "$input" "$work/kept" || wrong "$*: $input was written over"
}

# receipts INPUT PROGRAM WORD...: with --receipt and --numbers; neither takes the place of INPUT, a copy that it reads.
receipts() {
  read=$1
  shift 2
  for option in receipt numbers; do
    writes "r.$option" "$program" "--$option=$out/r.$option" "$@"
    keeps "$read" "$program" "--$option=$read" "$@"
  done
}

has() { # has VARIABLE FOLDER: whether a model is at hand
  [ -n "$2" ] && [ -d "$2" ] && return 0
  echo "  not all of $name: $1 does not name a folder"
  return 1
}

out=$work/out
one='\000\000\200\077' zero='\000\000\000\000'
repeat() { # repeat N BYTES
  i=0
  while [ $i -lt "$1" ]; do
    printf "$2"
    i=$((i + 1))
  done
}

for program in "$@"; do
  name=$(basename "$program")
  [ -x "$program" ] || {
    echo "  $name: not built"
    continue
  }
  case $name in
  heed_selftest) prints "$program" ;;
  heed_demo)
    prints "$program"
    map() { HEED_SENTENCE_MAP=$out/m.map "$program"; }
    writes m.map map
    ;;
  heed_device_bench) prints "$program" P1 ;;
  heed_bench) prints "$program" --benchmark_list_tests ;;
  heed_mpi | heed_int_mpi) prints env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$program" --n-q 1 --n-kv 64 ;;
  heed_map)
    printf 'title\tt\npanel\tp\nrow\t1\t2\n' >"$work/in.map"
    prints "$program" --colour=never "$work/in.map"
    "$program" "$work/in.map" "$work/picture.png" >/dev/null 2>&1
    if [ $? = 77 ]; then
      echo "  $name: no libpng"
    else
      writes p.png "$program" "$work/in.map" "$out/p.png"
      keeps "$work/in.map" "$program" "$work/in.map" "$work/in.map"
      prints "$program" "$work/in.map" "$work/picture.png"
    fi
    ;;
  heed_kwt)
    prints "$program" --help
    has HEED_KWT1 "$kwt1" || continue
    model=$kwt1/non_stream.tflite clip=$(find "$kwt1/clips" -name '*.wav' | sort | head -n 1)
    prints "$program" "$model" "$clip"
    prints "$program" --bits "$kwt1"
    writes k.map "$program" "--map=$out/k.map" "$model" "$clip"
    cp "$clip" "$work/clip.wav"
    receipts "$work/clip.wav" "$program" "$model" "$work/clip.wav"
    ;;
  kwt_weights)
    has HEED_KWT1 "$kwt1" || continue
    cp "$kwt1/non_stream.tflite" "$work/kwt.tflite"
    prints "$program" "$work/kwt.tflite" "$work/kwt.bin" int8
    writes k.bin "$program" "$work/kwt.tflite" "$out/k.bin" int8
    keeps "$work/kwt.tflite" "$program" "$work/kwt.tflite" "$work/kwt.tflite"
    ;;
  heed_calibrate)
    prints "$program" --help
    text="layers 1 model_dim 2 ffn_dim 2 heads 1 norm rms eps 1e-5 activation gelu layout out_in weights w.f32 rows"
    (repeat 27 "$one" && printf '\000\000\000\100') >"$work/w.f32"
    (printf "$one$zero" && printf "$zero$one") >"$work/r.f32"
    echo "$text r.f32 sequence 1" >"$work/m.txt"
    prints "$program" "$work/m.txt" "$work/m.bin"
    writes m.bin "$program" "$work/m.txt" "$out/m.bin"
    writes m.h "$program" --array=model "$work/m.txt" "$out/m.h"
    for input in m.txt w.f32 r.f32; do keeps "$work/$input" "$program" "$work/m.txt" "$work/$input"; done
    for option in --percent=101 --percent=nan --percent= --percent=99x --headroom=-1 --headroom=1e99 --array=int '--array=a;b' --array= \
      --places=1 --speed; do
      "$program" "$option" "$work/m.txt" "$work/m.bin" >"$work/said" 2>&1 && wrong "$name took $option"
    done
    has HEED_KWT1 "$kwt1" || continue
    writes i.bin "$program" kwt "$kwt1" "$out/i.bin"
    ;;
  heed_kwt_int)
    has HEED_KWT1 "$kwt1" || continue
    calibrate=$(dirname "$program")/heed_calibrate
    [ -x "$calibrate" ] && "$calibrate" kwt "$kwt1" "$work/int.bin" >/dev/null || continue
    prints "$program" "$work/int.bin" "$kwt1"
    prints "$program" --bits "$work/int.bin" "$kwt1"
    receipts "$work/int.bin" "$program" "$work/int.bin" "$(find "$kwt1/clips" -name '*.wav' | sort | head -n 1)"
    ;;
  heed_dreams)
    prints "$program" --help
    prints "$program" --tokens=4 I
    cp "$(dirname "$program")/dreams.heed" "$work/dreams.heed"
    receipts "$work/dreams.heed" "$program" "--file=$work/dreams.heed" --tokens=8 I
    has HEED_DREAMS "$dreams" && prints "$program" "--check=$dreams"
    ;;
  sensor_weights)
    head -c 192000 /dev/zero >"$work/rows.f32"
    prints "$program" --rows "$work/rows.f32" "$work/rows.int16"
    writes r.int16 "$program" --rows "$work/rows.f32" "$out/r.int16"
    keeps "$work/rows.f32" "$program" --rows "$work/rows.f32" "$work/rows.f32"
    has HEED_EEG "$eeg" || continue
    writes s.bin "$program" "$eeg" "$out/s.bin" integers
    writes s.c "$program" "$eeg" "$out/s.c"
    ;;
  heed_sensor)
    prints "$program" --help
    has HEED_EEG "$eeg" || continue
    prints "$program" "$eeg"
    prints "$program" --bits "$eeg"
    cp "$eeg/input.f32" "$work/recording.f32"
    for kind in --exact --integers; do receipts "$work/recording.f32" "$program" $kind "$eeg" "$work/recording.f32"; done
    ;;
  heed_import)
    printf "\\223NUMPY\\001\\000\\166\\000%-117s\\n" "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }" >"$work/w.npy"
    repeat 4 "$one" >>"$work/w.npy"
    prints "$program" --help
    prints "$program" "$work/w.npy"
    prints "$program" --code "$work/w.npy"
    writes w.heed "$program" "$work/w.npy" -o "$out/w.heed"
    writes w.c "$program" "$work/w.npy" -o "$out/w.c"
    keeps "$work/w.npy" "$program" "$work/w.npy" -o "$work/w.npy"
    ;;
  heed_compile)
    prints "$program" --help
    published=$(dirname "$program")/../tests/published
    [ -x "$published" ] || { echo "  not all of $name: the tests were built without it"; continue; }
    "$published" "$work" bert
    prints "$program" "$work/bert" -o "$work/compiled" --check
    for end in c h heed; do writes "compiled.$end" "$program" "$work/bert" -o "$out/compiled"; done
    keeps "$work/compiled.heed" "$program" "$work/compiled.heed" -o "$work/compiled"
    writes integers.heed "$program" "$work/bert" -o "$out/integers" --integers "$work/bert/rows.npy"
    cp "$work/bert/rows.npy" "$work/rows.heed"
    keeps "$work/rows.heed" "$program" "$work/bert" -o "$work/rows" --integers "$work/rows.heed"
    graphs=$(dirname "$published")/published_graphs
    [ -x "$graphs" ] || { echo "  not all of $name: it was built without graphs"; continue; }
    "$graphs" "$work"
    for end in c h heed; do writes "graph.$end" "$program" "$work/conv_graph.onnx" -o "$out/graph"; done
    ;;
  heed_tokens)
    prints "$program" --help
    echo '{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}}' >"$work/tokenizer.json"
    "$(dirname "$program")/heed_import" "$work/tokenizer.json" -o "$work/words.heed" >"$work/said" 2>&1 || {
      grep -q "built without utf8proc" "$work/said" || wrong "heed_import $work/tokenizer.json"
      echo "  not all of $name: heed_import was built without utf8proc"
      continue
    }
    prints "$program" "$work/words.heed" ab
    prints "$program" "$work/words.heed" --decode 2,0
    prints "$program" "$work/words.heed" --list
    ;;
  heed_listen)
    prints "$program" --help
    cp "$(dirname "$program")/speech.heed" "$work/speech.heed"
    { printf 'RIFF\377\377\377\377WAVEfmt \020\0\0\0\001\0\001\0\200\076\0\0\0\175\0\0\002\0\020\0data\377\377\377\377'
      head -c 32000 "$program"; } >"$work/clip.wav"
    prints "$program" "$work/clip.wav"
    prints "$program" --bits "$work/clip.wav"
    receipts "$work/clip.wav" "$program" "$work/clip.wav"
    has HEED_MOONSHINE "$moonshine" && prints "$program" --clips=lamp "--check=$moonshine"
    ;;
  heed_replay)
    prints "$program" --help
    has HEED_DREAMS "$dreams" || continue
    "$(dirname "$program")/heed_dreams" --tokens=8 "--receipt=$work/replay.receipt" I >/dev/null
    prints "$program" "$dreams" "$work/replay.receipt"
    prints "$program" --bisect "$work/replay.receipt" "$work/replay.receipt"
    ;;
  made_up_dreams | made_up_speech) ;; # for tests
  moonshine_folder)
    seq 32000 >"$work/vocabulary.txt"
    touch "$work/encoder_model.onnx" "$work/decoder_model_merged.onnx"
    "$program" "$work" "$work/moonshine" || wrong "$program $work $work/moonshine"
    ;;
  *) wrong "$name is a program that tests/full_disk.sh does not know: add what it prints and writes" ;;
  esac
done
echo "$n_checked outputs on full disks"
exit $status

#!/usr/bin/env bash
# Compile the kernel for Windows and macOS, without linking, by zig's copy of Clang and of the systems'
# headers. Run by `make cross`. Threads have 512 KiB of stack on macOS, so no frame may be large.
# Usage: cross.sh PYTHON FOLDER, in the root of the tree; PYTHON has the package ziglang.
set -euo pipefail
python=$1 folder=$2
mkdir -p "$folder"
export ZIG_GLOBAL_CACHE_DIR=$folder/zig ZIG_LOCAL_CACHE_DIR=$folder/zig

compile() {  # TARGET SOURCE FLAGS...
  echo "$@"
  "$python" -m ziglang c++ -target "$1" -c -o "$folder/object.o" -std=c++20 -O1 -ffp-contract=off -Isrc \
    -Wall -Wextra -Werror -Wframe-larger-than=65536 "${@:3}" "$2"
}

for target in x86_64-windows-gnu x86_64-macos aarch64-windows-gnu aarch64-macos; do
  compile $target src/kernel/bin/loops.cpp -DMSPP_ISA=base
  if [[ $target == x86_64-* ]]; then
    compile $target src/kernel/bin/loops.cpp -DMSPP_ISA=avx2 -mavx2
    compile $target src/kernel/bin/loops.cpp -DMSPP_ISA=avx512 -mavx512f -mavx512dq -mavx512vl -mavx512bw
    compile $target src/kernel/bin/dispatch.cpp -DMSPP_X86_64
  else
    compile $target src/kernel/bin/dispatch.cpp
  fi
done
# These tests use every layer of the kernel.
for target in x86_64-windows-gnu aarch64-macos; do
  for layer in bin seek query coarsen tree image regions colour_tracker; do
    compile $target tests/kernel/test_$layer.cpp
  done
done

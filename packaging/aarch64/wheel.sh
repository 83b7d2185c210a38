#!/usr/bin/env bash
# Cross-compile the wheel of Python 3.11 for 64-bit ARM, and test it in emulation: the recorded results
# must have the same bits. Run by `make wheel-aarch64` on Debian, with g++-aarch64-linux-gnu and qemu-user.
# Usage: wheel.sh UV PYTHON FOLDER TESTS...; PYTHON is a 3.11, because Debian's package for ARM is one.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
uv=$1 python=$2 folder=$3
shift 3
mkdir -p "$folder"/{lists,cache,debs,root,site}
folder=$(cd "$folder" && pwd)

# scikit-build-core reads the platform of the wheel and the suffix of the module from these variables.
_PYTHON_HOST_PLATFORM=linux-aarch64 SETUPTOOLS_EXT_SUFFIX=.cpython-311-aarch64-linux-gnu.so \
  CMAKE_TOOLCHAIN_FILE="$here/toolchain.cmake" \
  "$uv" build --quiet --wheel --python "$python" --out-dir "$folder" .

# Python for ARM, from Debian's packages, without installing them.
packages="libpython3.11-minimal python3.11-minimal libpython3.11-stdlib libc6 libgcc-s1 libstdc++6 zlib1g
  libexpat1 libssl3 libffi8 libbz2-1.0 liblzma5 libsqlite3-0 libuuid1 libncursesw6 libtinfo6 libreadline8
  libcrypt1 media-types"
apt="apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State::Lists=$folder/lists
  -o Dir::Cache=$folder/cache -o Dir::State::status=/dev/null -o APT::Sandbox::User=root"
$apt update
# shellcheck disable=SC2086 # a list of names
(cd "$folder/debs" && $apt download $packages)
for package in "$folder"/debs/*.deb; do dpkg -x "$package" "$folder/root"; done

"$uv" pip install --quiet --python "$python" --python-platform aarch64-manylinux_2_28 --only-binary :all: \
  --target "$folder/site" --group wheel "$folder"/*aarch64.whl
PYTHONPATH="$folder/site" qemu-aarch64 -L "$folder/root" "$folder/root/usr/bin/python3.11" -m pytest -q "$@"

#!/usr/bin/env bash
# Build the sdist in a new Debian root that has only Python, a C++ compiler and the network, and use the
# result. Run by `make sdist-test` as root, on Debian with debootstrap.
# Usage: clean-root.sh SDIST FOLDER
set -euo pipefail
[[ $# -eq 2 && -f $1 ]] || { echo "usage: clean-root.sh SDIST FOLDER; dist/ must have one sdist" >&2; exit 2; }
sdist=$1 root=$2
rm -rf "$root" && mkdir -p "$root"
debootstrap --variant=minbase --include=python3-venv,python3-dev,g++,ca-certificates bookworm "$root"
# The name server and the certificates of the host, so that pip works behind a proxy.
cp /etc/resolv.conf "$root/etc/"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
cp "$sdist" "$root/root/"
# shellcheck disable=SC2016 # expanded in the root
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root PIP_CERT=/etc/ssl/certs/ca-certificates.crt \
  unshare --mount --pid --fork chroot "$root" sh -euc '
    mount -t proc proc /proc
    cd /root
    python3 -m venv env
    env/bin/pip install --quiet --disable-pip-version-check "$(echo meanshiftpp-*.tar.gz)[cli,io]"
    env/bin/python -c "import numpy as np; np.save(\"points.npy\", np.arange(20.0).reshape(10, 2))"
    env/bin/meanshiftpp --version
    env/bin/meanshiftpp cluster points.npy -b 9 -o labels.npy'

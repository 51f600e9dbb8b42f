#!/bin/sh
# Make a Debian system with every Python it has in FOLDER, for `make test-release`, and print what to give as PYTHONS.
# Needs root and debootstrap, and the mirror that apt uses here. Afterwards: umount FOLDER/tmp FOLDER/dev FOLDER/proc.
set -eu
folder=${1:?usage: tools/debian_pythons.sh FOLDER [SUITE]}
suite=${2:-testing}
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)
[ -d "$folder/proc" ] || debootstrap --variant=minbase --include=ca-certificates "$suite" "$folder" "$mirror" sid
for part in proc dev tmp; do mountpoint -q "$folder/$part" || mount --rbind "/$part" "$folder/$part"; done
mountpoint -q "$folder/etc/ssl/certs" || mount --bind /etc/ssl/certs "$folder/etc/ssl/certs"
chroot "$folder" apt-get update -q
found=$(chroot "$folder" apt-cache pkgnames python3. | grep -x 'python3\.[0-9]*-venv' | sort -V)
chroot "$folder" apt-get install -qy --no-install-recommends $found
for one in $found; do echo "chroot $folder ${one%-venv}"; done | paste -sd ,

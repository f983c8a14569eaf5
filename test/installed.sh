#!/usr/bin/env bash
# The packed program is installed into an empty folder and run there, as a user does: with no source, none of the tools of a
# checkout, and whatever Node the machine has.
set -euo pipefail
cd "$(dirname "$0")/.."

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
for name in $(compgen -e FIELDMIRROR_) DATABASE_URL REDIS_URL; do unset "$name"; done

fail() {
  echo "installed: $*" >&2
  exit 1
}

npm pack --silent --pack-destination "$place" >/dev/null
bytes=$(cat "$place"/fieldmirror-*.tgz | wc -c)
# The packages that are in it need not be installed.
[ "$bytes" -lt 4000000 ] || fail "expected a package under 4 MB, got $bytes bytes"
version=$(node -p 'require("./package.json").version')

# Not the Node that npm put first for this script.
PATH=${PATH//$PWD\/node_modules\/.bin:/}
mkdir "$place/app"
cd "$place/app"
echo '{}' >package.json
npm install --silent --no-audit --no-fund "$place"/fieldmirror-*.tgz
fieldmirror=$place/app/node_modules/.bin/fieldmirror
echo "installed: $bytes bytes packed, where node is $(node --version)"

[ "$("$fieldmirror" --version)" = "$version" ] || fail "--version: expected $version"

# Each verb answers --help from its own code's package.
verbs_of() {
  "$fieldmirror" "$@" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z]*\).*/\1/p' | grep -vx help || true
}
verbs=0
for verb in $(verbs_of); do
  for below in '' $(verbs_of "$verb"); do
    "$fieldmirror" "$verb" $below --help | grep -q "^Usage: fieldmirror $verb${below:+ $below}" ||
      fail "$verb $below --help: expected its usage"
    verbs=$((verbs + 1))
  done
done
[ "$verbs" -gt 30 ] || fail "expected more than 30 verbs, got $verbs"

FIELDMIRROR_DEMO_NIGHTS=2 "$fieldmirror" start --once | tee once.txt
grep -q "^  fieldmirror start " once.txt || grep -q "^  npx fieldmirror start " once.txt || fail "start --once: expected a next step that can be typed here"
[ "$(grep -c ' certified:' once.txt)" = 4 ] || fail 'start --once: expected four certified streams'
"$fieldmirror" status | grep -q certified || fail 'status: expected it to tell of certified streams'

"$fieldmirror" explain E07 | grep -q '^## E07' || fail 'explain E07: expected its page'

code=0
"$fieldmirror" strat 2>/dev/null || code=$?
[ "$code" = 2 ] || fail "a wrong verb: expected exit code 2, got $code"

# A signal reaches the program itself, which then stops cleanly.
coproc service { exec "$fieldmirror" service --port 0; }
pid=$service_PID
while read -r line <&"${service[0]}"; do
  case $line in *'The reference service answers'*) break ;; esac
done
kill -TERM "$pid"
code=0
wait "$pid" || code=$?
[ "$code" = 0 ] || fail "SIGTERM to service: expected exit code 0, got $code"

# Without any Node the launcher says what is missing.
mkdir tools
ln -s "$(command -v dirname)" "$(command -v readlink)" tools
rm -r node_modules/node-linux-*
code=0
said=$(PATH=$place/app/tools "$fieldmirror" --version 2>&1) || code=$?
[ "$code" = 2 ] || fail "no Node: expected exit code 2, got $code: $said"
[[ $said == *'expected Node 24 or newer, got none'* ]] || fail "no Node: expected it to be told, got: $said"

echo "installed: $verbs verbs, a full sweep, status, exit codes and a signal are as from source"

#!/usr/bin/env bash
# Locks the versions of each environment again: `test/engines/environments/lock.sh [name…]`, with uv on the path.
set -euo pipefail
cd "$(dirname "$0")"
names=("$@")
[ ${#names[@]} -gt 0 ] || for file in *.in; do names+=("${file%.in}"); done
for name in "${names[@]}"; do
  uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate --no-emit-index-url \
    --no-emit-find-links "$name.in" --output-file "$name.txt"
done

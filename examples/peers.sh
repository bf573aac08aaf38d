#!/usr/bin/env bash
# What docs/evidence/other-locks.md shows: lockyard's locks beside those that people use instead, on all CPUs of this host, in one run;
# and what an uncontended lock is, by listing, and costs, in straight loops, beside one compare-exchange and one store.
#
#   examples/peers.sh [OPTION]...      options of `lockyard measure`, such as --repeats 31
#
# It takes a minute or two. Run it when nothing else runs: look at the load that it prints.
set -euo pipefail
cd "$(dirname "$0")/.."
cpus=$(nproc)
# One thread; one for each CPU; and two for each, which is bad for who waits in order by spinning.
threads=1
if [ "$cpus" -gt 1 ]; then threads="$threads,$cpus"; fi
threads="$threads,$((2 * cpus))"

echo "== by listing"
cargo test --quiet -p lockyard-peers --test it listings

echo "== straight loops, one thread"
cargo study uncontended

cargo build --quiet --release
echo "== $cpus CPUs, load $(cut -d' ' -f1-3 /proc/loadavg 2>/dev/null || echo 'not known')"
"${CARGO_TARGET_DIR:-target}/release/lockyard" measure examples/every-lock.toml --peers --threads "$threads" \
    --relative-to bare "$@"

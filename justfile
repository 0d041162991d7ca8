# The daily commands: `just NAME`, or what stands below each name, typed.

# Names what there is.
default:
    @just --list

# Looks for mistakes without running anything.
check:
    cargo clippy --workspace --all-targets --locked -- -D warnings

# Passes every test.
test:
    cargo test --locked

# One promise of the program: `just promise run_before`.
promise NAME:
    cargo test --locked --test it {{NAME}}

# Every status and signal of a command, with every kind of stream: some 6 minutes.
streams:
    HOLDPOINT_TIMES=64 cargo test --locked --test it statuses::

# 2,000 random schedules of stopped, killed and slowed processes: some 25 minutes.
outcomes:
    HOLDPOINT_TIMES=20 cargo test --locked --test it outcomes::

# Kills the recorder of a command that prints, in 200 rounds, and the disk under one, at every call.
flight:
    HOLDPOINT_TIMES=34 cargo test --locked --test it output_kept::
    cargo test --locked -p holdpoint-crash --test crash crash_output

# What a command prints to harm its recorder: 10^9 empty lines, and a line of 4 GiB.
hostile-output:
    HOLDPOINT_TIMES=100 cargo test --locked --test it hostile_output::

# What a change must pass.
ci:
    .ci/run

# What a release must pass.
ci-all:
    .ci/run all

# Looks for inputs that break a target: `just fuzz payload 1200`.
fuzz TARGET SECONDS="60":
    cd fuzz && cargo fuzz run {{TARGET}} -- -max_total_time={{SECONDS}}

# Measures everything and writes RESULTS.md: some 15 minutes on a machine that does nothing else, and
# 6 GB of `TMPDIR` meanwhile. `just results --quick` is a part of it, in a few minutes.
results *OPTIONS="--huge":
    cargo run --profile measure --locked -p holdpoint-measure --features peers --bin results -- \
        {{OPTIONS}}

# Measures the tables of benches/programs.md: some ten minutes on a machine that does nothing else.
programs:
    cargo build --release --locked -p holdpoint-cli
    cargo build --profile measure --locked -p holdpoint-measure
    target/measure/starting target/release/holdpoint
    target/measure/processes
    target/measure/output target/release/holdpoint

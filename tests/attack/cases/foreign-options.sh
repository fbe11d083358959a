# A shared campaign's options come from its database: a worker that joins starts none of the engines there that write or see the
# user's files, unless the user types the very label.
command -v psql >/dev/null || { echo "psql is not installed"; exit 77; }
case $("$ASSAY" campaign list postgresql:///none?host=/nowhere 2>&1) in *'has no PostgreSQL'*) exit 77 ;; esac
cat >joins.sh <<'SH'
. "$ATTACK/lib.sh"
SECONDS_EACH=30
url=$ASSAY_TEST_POSTGRES
holds fuzz --db "$url" --campaign c -e identity --no-probe --no-reduce --ops Relu --count 5000 --time 1s
mkdir .ssh
for label in "identity:save=$HOME/.ssh/new" "reference:fault=$HOME/.ssh/new" "opencv:cpu=$HOME/.ssh/new" "onnxruntime:save=$HOME/.ssh/new"; do
    psql -q -v label="$label" "$url" >/dev/null <<'SQL'
UPDATE assay_c.state SET value = regexp_replace(value, '--engine=[^\n]*', '--engine=' || :'label') WHERE name = 'fuzz-words';
SQL
    holds fuzz --db "$url" --campaign c --time 1s --sandbox strict
    [ -z "$(ls -A .ssh)" ] || fail "a file was made by joining with $label"
    [ "$status" = 2 ] || fail "status $status of joining with $label"
    grep -qF -e "no engine '${label%%:*}'" -e '-e' err || { cat err; fail "nobody says what to do about $label"; }
done
# What the user types as well is the user's.
psql -q -v label="identity:save=new" "$url" >/dev/null <<'SQL'
UPDATE assay_c.state SET value = regexp_replace(value, '--engine=[^\n]*', '--engine=' || :'label') WHERE name = 'fuzz-words';
SQL
holds fuzz --db "$url" --campaign c --time 1s
says 'the campaign c sets the knob save of identity' err
holds fuzz --db "$url" --campaign c --time 1s -e identity:save=new
! grep -q 'sets the knob save' err || fail "a label that the user typed is refused"
# Limits that hold a worker for a day, or take all of its memory.
for limit in deadline=86400 memory=1099511627776; do
    psql -q -v limit="$limit" "$url" >/dev/null <<'SQL'
UPDATE assay_c.state SET value = '--engine=identity' || E'\n' || '--' || :'limit' WHERE name = 'fuzz-words';
SQL
    holds fuzz --db "$url" --campaign c --time 1s
    says "type --$limit, too" err
    holds fuzz --db "$url" --campaign c --time 1s "--$limit"
    ! grep -q 'too, if you want' err || fail "a limit that the user typed is refused"
done
# Patterns that take for ever.
psql -q "$url" >/dev/null <<'SQL'
UPDATE assay_c.state SET value = '--engine=identity' || E'\n' || '--only-blocks=' || repeat('*e', 40) || '!' WHERE name = 'fuzz-words';
SQL
holds fuzz --db "$url" --campaign c --time 1s
says 'no block is called' err
SH
status=0
TMPDIR=/tmp "$SOURCE/tools/with-postgres" bash -euo pipefail joins.sh || status=$?
exit $status

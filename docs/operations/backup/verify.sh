#!/bin/sh
# Read every file of the backups and of the log's archive; end with 1 when one is not what was written, or when a segment of
# the log is not there. pgBackRest 2.45's own `verify` ends with 0 whatever it finds, says it at level info, and says nothing of
# a segment that is gone. Segments are of 16 MB, as `initdb` makes them.
said=$(pgbackrest --stanza=mandate --log-level-console=info verify) || exit 1
case "$said" in
*"status: error"* | *"invalid checksum"* | *"is missing"* | *"no backups exist"*)
  printf '%s\n' "$said" | grep -v " command begin " >&2
  exit 1
  ;;
esac

# From the oldest backup on, each timeline's segments follow one another, and the first follows its parent's where its history says.
oldest=$(pgbackrest --stanza=mandate info | awk '/wal start\/stop:/ { print $3; exit }')
names=$(pgbackrest --stanza=mandate repo-ls --recurse archive/mandate) || exit 1
histories=$(printf '%s\n' "$names" | while read -r name; do
  case "$name" in
  *.history)
    timeline=${name##*/}
    last=$(pgbackrest --stanza=mandate repo-get "archive/mandate/$name" | awk 'NF > 1 { parent = $1; at = $2 } END { print parent, at }')
    echo "history ${name%/*} ${timeline%.history} $last"
    ;;
  esac
done)
gaps=$(printf '%s\n%s\n' "$histories" "$names" | awk -v oldest="$oldest" '
  function hex(text,  i, value) {
    for (i = 1; i <= length(text); i++) value = value * 16 + index("123456789ABCDEF", toupper(substr(text, i, 1)))
    return value
  }
  function place(name) { return hex(substr(name, 9, 8)) * 256 + hex(substr(name, 17, 8)) }
  BEGIN { oldest_line = hex(substr(oldest, 1, 8)); oldest_place = place(oldest) }
  $1 == "history" { split($5, at, "/"); parent[$2, hex($3)] = $4; switched[$2, hex($3)] = hex(at[1]) * 256 + int(hex(at[2]) / 16777216); next }
  {
    parts = split($0, path, "/"); name = path[parts]
    if (parts != 3 || substr(name, 25, 1) != "-") next
    id = path[1]; line = hex(substr(name, 1, 8)); number = place(name)
    if (number < oldest_place) next
    if ((id, line) in last && number > last[id, line] + 1) print "segments of the log are missing before " id "/" substr(name, 1, 24)
    if (!((id, line) in last)) {
      if (line == oldest_line && number > oldest_place) print "segments of the log are missing before " id "/" substr(name, 1, 24)
      first = switched[id, line]; before = parent[id, line]
      if ((id, before) in last && (number > first || last[id, before] < first - 1)) print "segments of the log are missing before " id "/" substr(name, 1, 24)
    }
    last[id, line] = number
  }')
if [ -n "$gaps" ]; then
  printf '%s\n' "$gaps" >&2
  exit 1
fi

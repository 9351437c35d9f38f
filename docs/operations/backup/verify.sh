#!/bin/sh
# Read every file of the backups and of the log's archive; end with 1 when one is not what was written.
# pgBackRest 2.45's own `verify` ends with 0 whatever it finds, and says it at level info.
said=$(pgbackrest --stanza=mandate --log-level-console=info verify) || exit 1
case "$said" in
*"status: error"* | *"invalid checksum"* | *"is missing"* | *"no backups exist"*)
  printf '%s\n' "$said" | grep -v " command begin " >&2
  exit 1
  ;;
esac

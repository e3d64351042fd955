#!/bin/sh
# Nightly: delete bash events older than 30 days; safe while the server runs. From cron:
#   17 3 * * * AGENT_SERVER_DATA=/srv/agentserver /path/to/nightly_prune.sh
# It says how many would go, then deletes them; cron mails what it says, and its failure.
set -eu
set -- --older-than "${OLDER_THAN:-30d}"
[ -z "${AGENT_SERVER_DATA:-}" ] || set -- --data "$AGENT_SERVER_DATA" "$@"

"${AGENTSERVER:-agentserver}" prune "$@" --dry-run
"${AGENTSERVER:-agentserver}" prune "$@"

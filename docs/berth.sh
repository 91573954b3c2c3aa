# Shell functions for the examples of these pages. Load them once in each shell: . docs/berth.sh
#
#   rest METHOD PATH [BODY]               sends a REST request to /api/v0 and prints the answer
#   gql OPERATION [VARIABLE=VALUE ...]    sends a GraphQL operation and prints the answer: id=off_42 sends a text,
#                                         first:=5 or 'filter:={"numGpus": {"eq": 1}}' any JSON
#   first PREFIX                          reads an answer and prints its first id with that prefix: first off
#
# Answers are one line. If you have jq, `gql '…' | jq .data` prints them readably.
#
# BERTH is the gateway's address. KEY is your API key; if it is not set, the demo account's key is read from its file. After
# `unset KEY`, load them again to read the file anew.

BERTH=${BERTH:-http://127.0.0.1:4000}

if [ -z "${KEY:-}" ]; then
  for folder in "${BERTH_DATA_DIR:-}" "${XDG_DATA_HOME:-$HOME/.local/share}/berth" "$HOME/Library/Application Support/Berth" \
    /var/lib/berth; do
    if [ -r "$folder/demo-key" ]; then
      KEY=$(cat "$folder/demo-key")
      break
    fi
  done
  [ -n "${KEY:-}" ] || echo 'No demo key was found. Start Berth first, or set KEY.' >&2
fi

rest() {
  curl -sSg -X "$1" "$BERTH/api/v0$2" -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d "${3:-}"
  echo
}

gql() {
  local query pair name value variables=
  query=$(escape "$1")
  shift
  for pair in "$@"; do
    name=${pair%%=*} value=${pair#*=}
    case $name in
      *:) name=${name%:} ;;
      *) value="\"$(escape "$value")\"" ;;
    esac
    variables="$variables,\"$name\":$value"
  done
  curl -sS "$BERTH/graphql" -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \
    -d "{\"query\":\"$query\",\"variables\":{${variables#,}}}"
  echo
}

first() {
  local answer id
  answer=$(cat)
  id=$(printf '%s' "$answer" | grep -o "\"$1_[0-9]*\"" | head -n 1 | tr -d '"')
  if [ -n "$id" ]; then echo "$id"; else printf 'The answer has no id: %s\n' "$answer" >&2; fi
}

# Escapes a text for a JSON string.
escape() {
  printf '%s' "$1" | sed 's/\\/\\\\/g; s/"/\\"/g' | awk 'NR > 1 { printf "\\n" } { printf "%s", $0 }'
}

# What every step has besides POSIX.

# follow COMMAND...: runs it in the background, its lines wait to be taken.
follow() {
  rm -f followed
  mkfifo followed
  "$@" >followed 2>&1 &
  follower=$!
  exec 3<followed
}

# take N: prints the next N lines.
take() {
  taken=0
  while [ "$taken" -lt "$1" ] && read -r line <&3; do
    printf '%s\n' "$line"
    taken=$((taken + 1))
  done
}

# unfollow: ends the command.
unfollow() {
  kill "$follower"
  wait "$follower" 2>/dev/null
  exec 3<&-
}

# structure: of what `explain` prints, all but the sentences.
structure() {
  grep -E "^(GROUP|KIND|VERSION|FIELD|ENUM|RESOURCE)|$(printf '\t')<|^ *enum:"
}

# managers KIND NAME: who owns what, a line each. Entries of one second come in an order of their own.
managers() {
  kubectl get "$1" "$2" -n hall --show-managed-fields \
    -o jsonpath='{range .metadata.managedFields[*]}{.manager} {.operation} {.subresource} {.apiVersion} {.fieldsV1}{"\n"}{end}' | sort
}

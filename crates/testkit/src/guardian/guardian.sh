# stdin: "guard PID" and "forget PID" lines from the test process and its children
# $1:    the scratch directory of the test process
trap '' HUP INT TERM

children_of() { grep -ls "^PPid:[[:space:]]*$1\$" /proc/[0-9]*/status | cut -d / -f 3; }

guarded=
while read -r verb pid; do
  case $verb in
    guard) guarded="$guarded $pid" ;;
    forget)
      rest=
      for known in $guarded; do [ "$known" = "$pid" ] || rest="$rest $known"; done
      guarded=$rest
      ;;
  esac
done

# End of file: the test process is gone. Every guarded process leads a group of its own, which PostgreSQL's
# children leave; those would die with their parent by themselves, but not if they are frozen.
# No `--` before the group: dash takes it for a process.
for pid in $guarded; do kill -9 "-$pid" $(children_of "$pid"); done

# File systems that tests have mounted there.
while read -r _ mounted _; do
  case $mounted in "$1"/*) umount -l "$mounted" ;; esac
done </proc/mounts

# The dying may still write for a moment.
for attempt in 1 2 3 4 5 6 7 8 9 10; do
  rm -rf "$1" && exit
  sleep 0.2
done

# Packs a program and its libraries as a container image, without a builder or registry: image.sh NAME PROGRAM ARCHIVE
set -euo pipefail

readonly NAME=$1 PROGRAM=$2 ARCHIVE=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

digest() { sha256sum <"$1" | cut -d' ' -f1; }

root=$scratch/root
entry=$(basename "$PROGRAM")
mkdir "$root"
mkdir --mode=1777 "$root/tmp"
# Without debugging symbols it is a tenth of the size.
strip -o "$root/$entry" "$PROGRAM"
{ ldd "$PROGRAM" 2>/dev/null || :; } | { grep -oE '/[^ ]+\.so[^ ]*' || :; } |
  while read -r library; do install -D "$library" "$root$library"; done

tar --create --owner=0 --group=0 --file "$scratch/layer.tar" --directory "$root" .
cat >"$scratch/config.json" <<END
{"architecture":"amd64","os":"linux","config":{"Entrypoint":["/$entry"],"User":"65532:65532"},
"rootfs":{"type":"layers","diff_ids":["sha256:$(digest "$scratch/layer.tar")"]}}
END
config=$(digest "$scratch/config.json").json
mv "$scratch/config.json" "$scratch/$config"
echo "[{\"Config\":\"$config\",\"RepoTags\":[\"$NAME\"],\"Layers\":[\"layer.tar\"]}]" >"$scratch/manifest.json"
tar --create --file "$ARCHIVE" --directory "$scratch" manifest.json "$config" layer.tar

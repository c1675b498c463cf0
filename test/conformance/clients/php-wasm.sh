#!/usr/bin/env bash
# Runs the tests of the client for PHP on another PHP than that of the system, as a build for WebAssembly from npm:
#   bash test/conformance/clients/php-wasm.sh 8.1
set -euo pipefail
version=${1:-8.1}
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --prefix "$folder" --no-audit --no-fund --loglevel error @php-wasm/cli@3.1.56
cat >"$folder/php" <<EOF
#!/usr/bin/env bash
export PHP=$version
main=("$PWD/node_modules/.bin/node" "$folder/node_modules/@php-wasm/cli/main.js" -d include_path=.:/usr/share/php)
case "\${1:-}" in
*/runners/php.php)
  # It cannot wait for its standard input, so the lines are in a file.
  lines=\$(mktemp)
  (cat; echo end) <&0 >>"\$lines" &
  "\${main[@]}" "\$1" "\$lines" </dev/null
  rm "\$lines" ;;
*) exec "\${main[@]}" "\$@" ;;
esac
EOF
chmod +x "$folder/php"
export PATH="$folder:$PATH"
php -v | head -1
npx vitest run --config test/vitest.config.ts test/conformance/clients/php.test.ts

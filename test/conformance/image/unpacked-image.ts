/** The image as a container engine would run it: layers unpacked, root read-only, the user and environment of its configuration. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { runProgram } from '../deploy/programs.ts';

type Blob = { digest: string; size: number };

type ImageFacts = {
  User: string;
  WorkingDir: string;
  Env: string[];
  Entrypoint: string[];
  Cmd: string[];
  Healthcheck: { Test: string[] };
  Labels: Record<string, string>;
};

export type UnpackedImage = {
  root: string;
  digest: string;
  config: ImageFacts;
  /** Of all layers. */
  bytes: number;
};

/** Throws when a blob is not what its digest says, or a layer not what the configuration says. */
export const unpackImage = async (layout: string, root: string): Promise<UnpackedImage> => {
  mkdirSync(root);
  const sha256 = (content: Buffer): string => `sha256:${createHash('sha256').update(content).digest('hex')}`;
  const read = ({ digest, size }: Blob): Buffer => {
    const content = readFileSync(join(layout, 'blobs', digest.replace(':', '/')));
    if (content.length !== size || sha256(content) !== digest) throw new Error(`${digest} has another content`);
    return content;
  };
  const readJson = <T>(blob: Blob): T => JSON.parse(read(blob).toString()) as T;
  const index = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8')) as { manifests: [Blob] };
  const [own] = index.manifests;
  const manifest = readJson<{ config: Blob; layers: Blob[] }>(own);
  const { config, rootfs } = readJson<{ config: ImageFacts; rootfs: { diff_ids: string[] } }>(manifest.config);
  let bytes = 0;
  for (const [at, layer] of manifest.layers.entries()) {
    const tar = gunzipSync(read(layer));
    if (sha256(tar) !== rootfs.diff_ids[at]) throw new Error(`layer ${at} is not that of the configuration`);
    bytes += tar.length;
    const file = join(layout, 'blobs', layer.digest.replace(':', '/'));
    const { code, stderr } = await runProgram('tar', ['-xpzf', file, '-C', root, '--numeric-owner']);
    if (code !== 0) throw new Error(stderr);
  }
  const named = [own, manifest.config, ...manifest.layers].map(({ digest }) => digest.slice(7));
  const unnamed = readdirSync(join(layout, 'blobs/sha256')).filter((name) => !named.includes(name));
  if (unnamed.length > 0) throw new Error(`${unnamed[0]} belongs to nothing`);
  return { root, digest: own.digest, config, bytes };
};

export type Container = {
  /** Everything on stdout and on stderr so far. */
  output(): string;
  errors(): string;
  signal(name: NodeJS.Signals): void;
  /** Resolves to the exit code. */
  exited: Promise<number | null>;
};

/**
 * In a mount namespace of its own, which ends with the process: the tree is read-only, /tmp and /data are empty and writable,
 * `secrets` is /run/secrets. Every step replaces the last, so a signal reaches the program itself.
 */
const script = `
root=$1 secrets=$2 user=$3 folder=$4 path=$5
shift 5
mount --bind "$root" "$root"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/run"
mkdir "$root/run/secrets"
mount --bind -o ro "$secrets" "$root/run/secrets"
mount -t tmpfs tmpfs "$root/tmp"
mount -t tmpfs -o uid=\${user%:*},gid=\${user#*:},mode=700 tmpfs "$root/data"
mount -o remount,bind,ro "$root"
export PATH="$path"
exec /usr/bin/setpriv --no-new-privs /usr/bin/unshare --root="$root" --wd="$folder" --setgid=\${user#*:} --setuid=\${user%:*} "$@"
`;

/** `command`: in place of the start. `env` is added to that of the image. */
export const runContainer = (
  { root, config }: UnpackedImage,
  { env = {}, command, secrets }: { env?: Record<string, string>; command?: readonly string[]; secrets: string },
): Container => {
  const words = command ?? [...config.Entrypoint, ...config.Cmd];
  const { PATH: path = '', ...own } = Object.fromEntries(config.Env.map((pair) => pair.split('=') as [string, string]));
  const child: ChildProcess = spawn(
    'unshare',
    ['--mount', 'sh', '-euc', script, 'sh', root, secrets, config.User, config.WorkingDir, path, ...words],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: process.env.PATH, ...own, ...env } },
  );
  const text = { output: '', errors: '' };
  child.stdout?.on('data', (chunk: Buffer) => {
    text.output += chunk.toString();
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    text.errors += chunk.toString();
  });
  return {
    output: () => text.output,
    errors: () => text.errors,
    signal: (name) => void child.kill(name),
    exited: new Promise((resolve) => child.once('close', (code) => resolve(code))),
  };
};

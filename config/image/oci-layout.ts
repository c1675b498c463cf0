/** Writes a root file system as an OCI image layout (image-spec 1.1): layers, configuration, manifest and index. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { ImageConfig } from './image-config.ts';

type OciImage = {
  folder: string;
  rootfs: string;
  config: ImageConfig;
  version: string;
  epochSeconds: number;
};

export type BuiltImage = {
  /** Of the manifest, as `image@sha256:…` names it. */
  digest: string;
  /** Of the unpacked layers, and of the blobs that are transferred. */
  bytes: number;
  packedBytes: number;
};

type Blob = { digest: string; size: number };

const types = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
};

export const writeOciLayout = (image: OciImage): BuiltImage => {
  const { folder, config, version, epochSeconds } = image;
  const blobs = join(folder, 'blobs/sha256');
  mkdirSync(blobs, { recursive: true });
  const add = (content: Buffer): Blob => {
    const hex = createHash('sha256').update(content).digest('hex');
    writeFileSync(join(blobs, hex), content);
    return { digest: `sha256:${hex}`, size: content.length };
  };
  const addJson = (value: object): Blob => add(Buffer.from(JSON.stringify(value)));
  const layers = tarsOf(image).map((tar) => {
    const diffId = `sha256:${createHash('sha256').update(tar).digest('hex')}`;
    return { diffId, bytes: tar.length, blob: add(gzipSync(tar, { level: 9 })) };
  });
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const platform = { architecture, os: 'linux' };
  const created = new Date(epochSeconds * 1000).toISOString();
  const labels = { ...config.Labels, 'org.opencontainers.image.version': version };
  const rootfs = { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) };
  const configBlob = addJson({ created, ...platform, config: { ...config, Labels: labels }, rootfs });
  const manifest = addJson({
    schemaVersion: 2,
    mediaType: types.manifest,
    config: { mediaType: types.config, ...configBlob },
    layers: layers.map(({ blob }) => ({ mediaType: types.layer, ...blob })),
    annotations: labels,
  });
  const annotations = { 'org.opencontainers.image.ref.name': version };
  const index = {
    schemaVersion: 2,
    mediaType: types.index,
    manifests: [{ mediaType: types.manifest, ...manifest, platform, annotations }],
  };
  writeFileSync(join(folder, 'index.json'), JSON.stringify(index));
  writeFileSync(join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  return {
    digest: manifest.digest,
    bytes: sum(layers.map(({ bytes }) => bytes)),
    packedBytes: sum([configBlob, manifest, ...layers.map(({ blob }) => blob)].map(({ size }) => size)),
  };
};

/** The system, the packages and the program, from what changes least to what each release changes. */
const tarsOf = ({ rootfs, config, epochSeconds }: OciImage): Buffer[] => {
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-layers-'));
  const plain = ['--owner=0', '--group=0', '--mode=u=rwX,go=rX'];
  const [uid, gid] = config.User.split(':');
  let count = 0;
  const tar = (...parts: string[][]): Buffer => {
    count += 1;
    const file = join(folder, `${count}.tar`);
    const common = [`--file=${file}`, `--directory=${rootfs}`, '--sort=name', '--format=gnu', '--numeric-owner'];
    for (const part of parts) execFileSync('tar', ['--append', ...common, `--mtime=@${epochSeconds}`, ...part]);
    return readFileSync(file);
  };
  try {
    return [
      tar(
        [...plain, '--exclude=./app/*', '--exclude=./tmp', '--exclude=./data', '.'],
        ['--owner=0', '--group=0', '--mode=1777', './tmp'],
        // A volume that is mounted here belongs to the user of the program.
        [`--owner=${uid}`, `--group=${gid}`, '--mode=0700', './data'],
      ),
      tar([...plain, './app/node_modules']),
      tar([...plain, '--exclude=./app/node_modules', './app']),
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
};

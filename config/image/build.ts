/**
 * Builds the image of config/Dockerfile without a container engine: `npm run image -- FOLDER` writes FOLDER/rootfs, the files of the
 * image; FOLDER/oci, the image as an OCI layout; and FOLDER/sbom.cdx.json, its bill of materials. The Dockerfile runs the same
 * program for the files and states everything else once: user, environment, health check and command are read from it.
 * Needs Debian (apt-get, dpkg-deb, GNU tar, strip), `npm ci` in this repository, and the package sources of both.
 *
 * The same sources give the same digest: files are sorted, have no owner and the time of SOURCE_DATE_EPOCH (seconds, default 0).
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { billOfMaterials } from './bill-of-materials.ts';
import { readImageConfig } from './image-config.ts';
import { type BuiltImage, writeOciLayout } from './oci-layout.ts';
import { layRootFileSystem } from './root-file-system.ts';

const root = resolve(import.meta.dirname, '../..');

/** `folder` is emptied first. Throws when it holds anything that an earlier build did not write. */
const buildImage = (folder: string, epochSeconds: number): BuiltImage => {
  prepare(folder);
  const rootfs = join(folder, 'rootfs');
  const parts = layRootFileSystem({ repository: root, rootfs });
  const sbom = `${JSON.stringify(billOfMaterials(parts, epochSeconds), null, 2)}\n`;
  for (const file of [join(rootfs, 'app/sbom.cdx.json'), join(folder, 'sbom.cdx.json')]) writeFileSync(file, sbom);
  return writeOciLayout({
    folder: join(folder, 'oci'),
    rootfs,
    config: readImageConfig(readFileSync(join(root, 'config/Dockerfile'), 'utf8')),
    version: parts.version,
    epochSeconds,
  });
};

const outputs = ['rootfs', 'oci', 'sbom.cdx.json'];

const prepare = (folder: string): void => {
  mkdirSync(folder, { recursive: true });
  const foreign = readdirSync(folder).filter((name) => !outputs.includes(name));
  if (foreign.length > 0)
    throw new Error(`${folder} has other files (${foreign[0]}): name a folder for the image alone`);
  for (const name of outputs) rmSync(join(folder, name), { recursive: true, force: true });
};

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new Error('name the folder to build the image in: npm run image -- FOLDER');
  const { digest, bytes, packedBytes } = buildImage(resolve(folder), Number(process.env.SOURCE_DATE_EPOCH ?? 0));
  process.stdout.write(`${digest}\n${megabytes(bytes)} unpacked, ${megabytes(packedBytes)} to transfer\n`);
}

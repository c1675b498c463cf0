/**
 * Serves the style sheet and the scripts, which are public. Each file name contains a digest of the content, so browsers may
 * cache a file for ever: a new version has a new name.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Compression, createCompressed } from '#src/platform/http/compressed-body.ts';
import type { AssetPaths } from '../view/layout.ts';
import { acceptsEncoding } from './negotiate.ts';
import type { Step } from './state.ts';

export type Assets = AssetPaths & {
  /** Answers the paths of the files. */
  serve: Step;
};

const assetsPath = '/panel/assets/';

type Asset = { path: string; type: string; body: Buffer; compressed: (encoding: Compression) => Promise<Buffer> };

/** The first that the browser accepts is sent. */
const compressions: readonly Compression[] = ['br', 'gzip'];

const types: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

export const loadAssets = (): Assets => {
  const folder = new URL('../assets/', import.meta.url);
  const names = readdirSync(folder).sort();
  const read = (name: string): Buffer => readFileSync(new URL(name, folder));
  // frame.css comes first, because the sheets of the areas override its rules.
  const areas = names.filter((name) => name.endsWith('.css') && name !== 'frame.css');
  const styles = [read('frame.css'), ...areas.map((name) => withinArea(name.slice(0, -'.css'.length), read(name)))];
  const found: (readonly [string, Buffer])[] = [
    ['panel.css', Buffer.concat(styles)],
    ['htmx.js', packageFile('htmx.org/dist/htmx.min.js')],
    ['htmx-sse.js', packageFile('htmx-ext-sse/dist/sse.min.js')],
    ...names.filter((name) => !name.endsWith('.css')).map((name) => [name, read(name)] as const),
  ];
  const byName = new Map(found.map(([name, body]) => [name, assetOf(name, body)]));
  const byPath = new Map([...byName.values()].map((asset) => [asset.path, asset]));
  return {
    pathOf: (name) => {
      const asset = byName.get(name);
      if (asset === undefined) throw new Error(`there is no file ${name} in src/panel/assets`);
      return asset.path;
    },
    serve: async (ctx, next) => {
      const asset = byPath.get(ctx.path);
      if (asset === undefined) return next();
      const accepted = ctx.get('accept-encoding');
      const encoding = compressions.find((one) => acceptsEncoding(accepted, one));
      ctx.set({
        'content-type': asset.type,
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
        'cross-origin-resource-policy': 'same-origin',
        vary: 'accept-encoding',
        ...(encoding === undefined ? undefined : { 'content-encoding': encoding }),
      });
      ctx.body = encoding === undefined ? asset.body : await asset.compressed(encoding);
    },
  };
};

/** Limits the rules of an area's sheet to the pages of that area, so that equal class names do not collide. */
const withinArea = (area: string, sheet: Buffer): Buffer =>
  Buffer.from(`main[data-area="${area}"] {\n${sheet.toString()}}\n`);

const packageFile = (name: string): Buffer => readFileSync(createRequire(import.meta.url).resolve(name));

const assetOf = (name: string, body: Buffer): Asset => {
  const dot = name.lastIndexOf('.');
  const digest = createHash('sha256').update(body).digest('hex').slice(0, 16);
  const type = types[name.slice(dot + 1)];
  if (type === undefined) throw new Error(`assets of the panel have no type for ${name}`);
  return {
    path: `${assetsPath}${name.slice(0, dot)}.${digest}${name.slice(dot)}`,
    type,
    body,
    compressed: createCompressed(body),
  };
};

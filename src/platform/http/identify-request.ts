/**
 * The identity of a request (interface 8): path, query and body in one canonical form. A large body is written, hashed and
 * compressed in pieces, so it is never in memory a second time and does not block other requests.
 */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createDeflateRaw, inflateRaw } from 'node:zlib';
import { createPace } from '../pace.ts';
import { readExactJson } from './exact-json.ts';
import { canonicalJson, canonicalPieces, firstDifference } from './json.ts';
import { parseLargeJson } from './parse-large-json.ts';

export type IdentifiableRequest = {
  path: string;
  query: Readonly<Record<string, string>>;
  body: Readonly<Record<string, unknown>> | undefined;
  /** The body is processed in pieces. */
  isLarge: boolean;
};

/** The stored form of a request, beside its hash. */
export type KeptRequest = {
  /** Canonical JSON of path, query and body; of a large request without the body. */
  text: string;
  /** Of a large request: its canonical body, deflated. */
  packedBody: Buffer | null;
};

export type RequestIdentity = { hash: Buffer; kept: KeptRequest };

/** Characters that are written in one step. */
const batchCharacters = 64_000;

/** Only numbers like 1e20 make a body longer than it came; one that does it on purpose need not be unpacked again. */
const unpackedBytesMax = 128 * 1024 * 1024;

/** The hash is that of `{"body":…,"path":…,"query":…}`, in one step or in pieces. */
export const identifyRequest = async ({
  path,
  query,
  body,
  isLarge,
}: IdentifiableRequest): Promise<RequestIdentity> => {
  if (!isLarge || body === undefined) {
    const text = canonicalJson({ path, query, body: body ?? null });
    return { hash: createHash('sha256').update(text).digest(), kept: { text, packedBody: null } };
  }
  const text = canonicalJson({ path, query });
  const hash = createHash('sha256').update('{"body":');
  const packed: Buffer[] = [];
  const spell = async function* (): AsyncGenerator<Buffer> {
    for await (const batch of batchesOf(body)) {
      hash.update(batch);
      yield batch;
    }
  };
  await pipeline(Readable.from(spell()), createDeflateRaw({ level: 1 }), async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) packed.push(chunk);
  });
  hash.update(`,${text.slice(1)}`);
  return { hash: hash.digest(), kept: { text, packedBody: Buffer.concat(packed) } };
};

async function* batchesOf(body: Readonly<Record<string, unknown>>): AsyncGenerator<Buffer> {
  const pace = createPace();
  let batch = '';
  for (const piece of canonicalPieces(body)) {
    batch += piece;
    if (batch.length < batchCharacters) continue;
    yield Buffer.from(batch);
    batch = '';
    const pause = pace();
    if (pause !== undefined) await pause;
  }
  yield Buffer.from(batch);
}

/** Path to the first difference from the stored request; empty when the stored form cannot show it. */
export const differenceOf = async (
  kept: KeptRequest,
  { path, query, body }: IdentifiableRequest,
): Promise<readonly string[]> => {
  const first = readExactJson(kept.text) as Record<string, unknown>;
  const earlier = kept.packedBody === null ? first : { ...first, body: await unpack(kept.packedBody) };
  return firstDifference(earlier, { path, query, body: body ?? null }) ?? [];
};

const inflate = promisify(inflateRaw);

const unpack = async (packed: Buffer): Promise<unknown> => {
  const raw = await inflate(packed, { maxOutputLength: unpackedBytesMax }).catch(() => undefined);
  if (raw === undefined) return undefined;
  const parsed = await parseLargeJson(raw, { levelsMax: 64, pace: createPace() });
  return parsed.kind === 'value' ? parsed.value : undefined;
};

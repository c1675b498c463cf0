/**
 * The keys that sign security events: RSA of 2048 bits, as the CAEP interoperability profile asks (2.6). They are other keys than
 * those of access tokens and have a key set of their own, so that no service takes an event for a token. A new key is listed a
 * day before it signs, and an old one for a week after its last signature, so that receivers always find the key of an event.
 */
import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import { type CryptoKey, calculateJwkThumbprint, importJWK, type JWK } from 'jose';
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import { type Clock, dayMs } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { appendChange } from '../../record/append-change.ts';
import { deleteSignalKeys, insertSignalKey, listSignalKeys, lockSignalKeys, type SignalKeyRow } from './key-store.ts';

type SigningKey = { kid: string; key: CryptoKey };

export type SignalKeys = {
  /** The key that signs now. */
  current(): Promise<SigningKey>;
  /** The key set of receivers. */
  jwks(): Promise<{ keys: JWK[] }>;
};

type Deps = { db: Kysely<unknown>; box: Pick<SecretBox, 'seal' | 'open'>; clock: Clock };

export const alg = 'RS256';
const modulusBits = 2_048;
const sealLabel = (kid: string): string => `signal-key/${kid}`;
/** Interface 33: how long a key is listed before it signs and after its last signature. */
const listedMsBefore = dayMs;
const listedMsAfter = 7 * dayMs;
/** chosen: far shorter than the day that a new key is listed before it signs. */
const readEveryMs = 2_000;

/** Makes the key when there is none. While the store is away the keys that were read serve. */
export const openSignalKeys = async (deps: Deps): Promise<SignalKeys> => {
  const { db, box, clock } = deps;
  let rows = await settleKeys(deps);
  let readAtMs = clock.now().getTime();
  let opened: SigningKey | undefined;
  const known = async (now: Date): Promise<readonly SignalKeyRow[]> => {
    if (Math.abs(now.getTime() - readAtMs) >= readEveryMs) {
      readAtMs = now.getTime();
      rows = await listSignalKeys(db).catch(() => rows);
    }
    return rows;
  };
  return {
    current: async () => {
      const now = clock.now();
      const { kid, privateSealed } = signingAt(await known(now), now);
      if (opened?.kid === kid) return opened;
      // Web Crypto signs in the thread pool, so a poll of many events does not keep the process from other requests.
      const key = (await importJWK(JSON.parse(box.open(privateSealed, sealLabel(kid))) as JWK, alg)) as CryptoKey;
      opened = { kid, key };
      return opened;
    },
    jwks: async () => {
      const now = clock.now();
      return {
        keys: (await known(now)).filter(isListedAt(now)).map(({ kid, publicJwk }) => publishedJwk(kid, publicJwk)),
      };
    },
  };
};

/** `rows`: latest first. */
const signingAt = (rows: readonly SignalKeyRow[], now: Date): SignalKeyRow => {
  const row = rows.find(({ notBefore }) => notBefore <= now) ?? rows.at(-1);
  if (row === undefined) throw new Error('no key for security events is left');
  return row;
};

/** For `filter` over rows, latest first: a key signs until the next one does. */
const isListedAt =
  (now: Date) =>
  (_row: SignalKeyRow, index: number, rows: readonly SignalKeyRow[]): boolean => {
    const next = rows[index - 1];
    return next === undefined || now.getTime() < next.notBefore.getTime() + listedMsAfter;
  };

const settleKeys = async ({ db, box, clock }: Deps): Promise<SignalKeyRow[]> => {
  const found = await listSignalKeys(db);
  if (found.length > 0) return found;
  const now = clock.now();
  const made = await generateKey(box, now);
  return inTransaction(db, async (tx) => {
    await lockSignalKeys(tx);
    const others = await listSignalKeys(tx);
    if (others.length > 0) return others;
    await insertSignalKey(tx, made, now);
    return [made];
  });
};

type RotateDeps = { db: Kysely<unknown>; box: Pick<SecretBox, 'seal' | 'derive'>; clock: Clock; actor: string };

/** Lists a new key, which signs a day later, and drops keys that are not listed any more. CONFLICT: one waits already. */
export const rotateSignalKey = async (deps: RotateDeps): Promise<{ kid: string; signsFrom: Date }> => {
  const { db, box, clock, actor } = deps;
  const now = clock.now();
  const made = await generateKey(box, new Date(now.getTime() + listedMsBefore));
  return inTransaction(db, async (tx) => {
    await lockSignalKeys(tx);
    const rows = await listSignalKeys(tx);
    const waiting = rows.find(({ notBefore }) => notBefore > now);
    if (waiting !== undefined) {
      const from = waiting.notBefore.toISOString();
      throw new Fault('CONFLICT', `The key ${waiting.kid} is listed and signs from ${from} on`);
    }
    const isListed = isListedAt(now);
    const over = rows.filter((row, index) => !isListed(row, index, rows));
    await deleteSignalKeys(
      tx,
      over.map(({ kid }) => kid),
    );
    // The first key signs at once, because receivers know no other.
    const key = rows.length === 0 ? { ...made, notBefore: now } : made;
    await insertSignalKey(tx, key, now);
    const details = JSON.stringify({ done: 'key_rotated', kid: key.kid });
    await appendChange(tx, box, now, { action: 'signals.changed', actor, details });
    return { kid: key.kid, signsFrom: key.notBefore };
  });
};

const generateKey = async (box: Pick<SecretBox, 'seal'>, notBefore: Date): Promise<SignalKeyRow> => {
  const { privateKey, publicKey } = await promisify(generateKeyPair)('rsa', { modulusLength: modulusBits });
  const publicJwk = publicKey.export({ format: 'jwk' }) as JWK;
  const kid = await calculateJwkThumbprint(publicJwk);
  const text = JSON.stringify(privateKey.export({ format: 'jwk' }));
  return { kid, publicJwk, privateSealed: box.seal(text, sealLabel(kid)), notBefore };
};

/** Public members by name, so that nothing else can ever get into the document. */
const publishedJwk = (kid: string, { n, e }: JWK): JWK => ({ kty: 'RSA', n, e, kid, use: 'sig', alg }) as JWK;

/**
 * The keys of webhook signatures, a series for each use, stored sealed and shared by all workers. The first key is made on
 * first use. A new key is published a day before it signs, and an old key for a week after its last signature (interface
 * 4.3), so that receivers always find the key of a signature.
 */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint, type JWK } from 'jose';
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import { type Clock, dayMs } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import {
  deleteSigningKeys,
  insertSigningKey,
  type KeyUse,
  listSigningKeys,
  lockSigningKeys,
  type SigningKeyRow,
} from './signing-key-store.ts';

type SigningKeysDeps = { db: Kysely<unknown>; box: SecretBox; clock: Clock };

type SigningKey = { kid: string; key: KeyObject };

export type SigningKeys = {
  /** The key that signs now; no promise while cached rows name it for sure. Rows that are not fresh are read again meanwhile. */
  current(): SigningKey | Promise<SigningKey>;
  publicJwks(): Promise<{ keys: JWK[] }>;
};

/** Interface 4.3: how long a key is published before it signs and after its last signature. */
const listedMsBefore = dayMs;
const listedMsAfter = 7 * dayMs;
/** chosen: far shorter than the day that a new key is published before it signs. */
const readEveryMs = 60_000;
/**
 * chosen: so long cached rows name the key that signs, because a newer one is published a day before. Half of that day is left
 * for clocks that differ. Without it each slow read would hold up every delivery.
 */
const sureMs = listedMsBefore / 2;

/** Binds a sealed key to its kid and to what it signs. */
const sealLabel = (use: KeyUse, kid: string): string =>
  `${use === 'v1a' ? 'webhook-signing-key' : 'webhook-message-key'}/${kid}`;

/** Default: the keys of `v1a`. */
export const createSigningKeys = (deps: SigningKeysDeps, use: KeyUse = 'v1a'): SigningKeys => {
  const { db, box, clock } = deps;
  let rows: readonly SigningKeyRow[] = [];
  let readAtMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;
  let opened: SigningKey | undefined;

  const read = async (nowMs: number): Promise<void> => {
    const found = await listSigningKeys(db, use);
    rows = found.length > 0 ? found : await makeFirst(deps, use);
    readAtMs = nowMs;
  };
  const isReadWithin = (ms: number, nowMs: number): boolean => Math.abs(nowMs - readAtMs) < ms;
  /** One read for all. While the database is away the cached keys stay valid, because every key is published a day before it signs. */
  const readAgain = (nowMs: number): Promise<void> => {
    reading ??= read(nowMs)
      .catch((error: unknown) => {
        if (rows.length === 0) throw error;
      })
      .finally(() => {
        reading = undefined;
      });
    return reading;
  };
  const known = async (): Promise<readonly SigningKeyRow[]> => {
    const nowMs = clock.now().getTime();
    if (!isReadWithin(readEveryMs, nowMs)) await readAgain(nowMs);
    return rows;
  };
  const keyAt = (now: Date): SigningKey => {
    const { kid, privateKey } = signing(rows, now);
    if (opened?.kid !== kid) opened = { kid, key: createPrivateKey(box.open(privateKey, sealLabel(use, kid))) };
    return opened;
  };
  return {
    current: () => {
      const now = clock.now();
      const nowMs = now.getTime();
      if (!isReadWithin(sureMs, nowMs)) return known().then(() => keyAt(clock.now()));
      if (!isReadWithin(readEveryMs, nowMs)) void readAgain(nowMs);
      return keyAt(now);
    },
    publicJwks: async () => ({
      keys: (await known()).filter(isListedAt(clock.now())).map(({ publicJwk }) => publicJwk as JWK),
    }),
  };
};

/** `rows`: newest first, at least one. */
const signing = (rows: readonly SigningKeyRow[], now: Date): SigningKeyRow => {
  const row = rows.find(({ notBefore }) => notBefore <= now) ?? rows.at(-1);
  if (row === undefined) throw new Error('no webhook signing key exists');
  return row;
};

/** For `filter` over rows, newest first: a key signs until the next one does. */
const isListedAt =
  (now: Date) =>
  (_row: SigningKeyRow, index: number, rows: readonly SigningKeyRow[]): boolean => {
    const next = rows[index - 1];
    return next === undefined || now.getTime() < next.notBefore.getTime() + listedMsAfter;
  };

/**
 * Publishes a new key, which signs a day later. Deletes keys that are not published any more. Throws CONFLICT while the
 * last new key does not sign yet.
 */
export const rotateWebhookKey = async (
  tx: Kysely<unknown>,
  { box, clock }: Pick<SigningKeysDeps, 'box' | 'clock'>,
  use: KeyUse = 'v1a',
): Promise<{ kid: string; signsFrom: Date }> => {
  await lockSigningKeys(tx, use);
  const now = clock.now();
  const rows = await listSigningKeys(tx, use);
  const waiting = rows.find(({ notBefore }) => notBefore > now);
  if (waiting !== undefined) {
    throw new Fault(
      'CONFLICT',
      `The key ${waiting.kid} is listed and signs from ${waiting.notBefore.toISOString()} on`,
    );
  }
  const isListed = isListedAt(now);
  const over = rows.filter((row, index) => !isListed(row, index, rows));
  await deleteSigningKeys(
    tx,
    use,
    over.map(({ kid }) => kid),
  );
  // The first key signs at once, because receivers know no other.
  const notBefore = rows.length === 0 ? now : new Date(now.getTime() + listedMsBefore);
  const { kid } = await makeKey(tx, box, { use, created: now, notBefore });
  return { kid, signsFrom: notBefore };
};

const makeFirst = ({ db, box, clock }: SigningKeysDeps, use: KeyUse): Promise<SigningKeyRow[]> =>
  inTransaction(db, async (tx) => {
    await lockSigningKeys(tx, use);
    const earlier = await listSigningKeys(tx, use);
    if (earlier.length > 0) return earlier;
    const now = clock.now();
    return [await makeKey(tx, box, { use, created: now, notBefore: now })];
  });

const makeKey = async (
  tx: Kysely<unknown>,
  box: SecretBox,
  { use, created, notBefore }: { use: KeyUse; created: Date; notBefore: Date },
): Promise<SigningKeyRow> => {
  const { publicKey, privateKey } =
    use === 'rfc9421:ecdsa-p256' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync('ed25519');
  const bare = publicKey.export({ format: 'jwk' }) as JWK;
  const thumbprint = await calculateJwkThumbprint(bare);
  // The prefix keeps the key ids apart from those of tokens and of `v1a`.
  const kid = use === 'v1a' ? thumbprint : `webhook-${thumbprint}`;
  const pem = String(privateKey.export({ format: 'pem', type: 'pkcs8' }));
  const publicJwk = { ...bare, kid, use: 'sig', alg: bare.kty === 'EC' ? 'ES256' : 'EdDSA' };
  const row = { kid, publicJwk, privateKey: box.seal(pem, sealLabel(use, kid)), created, notBefore };
  await insertSigningKey(tx, use, row);
  return row;
};

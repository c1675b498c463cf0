/**
 * The keys of access tokens: ES256 (an RS256 signature takes over a millisecond), private part sealed under the master
 * key. The newest usable key signs; every key whose tokens may still live verifies and is published, so that keys can be
 * changed without a break (rotate-signing-key.ts).
 */
import { createPrivateKey, createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import type { JWK } from 'jose';
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import type { VerifyingKey } from '../../access/bearer-tokens.ts';
import { raiseEpoch } from '../../credentials/lookup/epoch-store.ts';
import { endOf, generateSigningKey, isOld, rotateOldSigningKey, sealLabel, signsUntil } from './rotate-signing-key.ts';
import {
  insertSigningKey,
  listSigningKeys,
  lockSigningKeys,
  raiseTokenSeconds,
  type SigningKeyRow,
} from './signing-key-store.ts';

export type SigningKey = { kid: string; privateKey: KeyObject; publicKey: KeyObject };

export type SigningKeys = {
  /** Signs new tokens. */
  current(): SigningKey;
  /** The key, if it may have signed a live token. */
  find(kid: string): VerifyingKey | undefined;
  /** The published set, the same object until a key comes or goes. */
  jwks(): { keys: JWK[] };
  /** Reads the keys again. */
  reload(): Promise<void>;
  /** Replaces a key that is too old. */
  service: Service;
};

type SigningKeysDeps = {
  db: Kysely<unknown>;
  box: Pick<SecretBox, 'seal' | 'open' | 'derive'>;
  clock: Clock;
  settings: { token_lifetime: number; signing_key_days: number };
};

const ageCheckMs = 60_000;

/** Makes the first key when there is none. */
export const openSigningKeys = async (deps: SigningKeysDeps): Promise<SigningKeys> => {
  const { db, clock, settings } = deps;
  await inTransaction(db, (tx) => settleKeys(deps, tx));
  await rotateOldSigningKey(deps, settings.signing_key_days);
  let loaded = openKeys(deps, await listSigningKeys(db), undefined);
  let begun = 0;
  let applied = 0;
  const now = (): number => clock.now().getTime();
  return {
    current: () => loaded.current(now()),
    find: (kid) => {
      const key = loaded.byKid.get(kid);
      return key !== undefined && now() < key.endsMs ? key : undefined;
    },
    jwks: () => loaded.jwks(now()),
    reload: async () => {
      begun += 1;
      const reading = begun;
      const rows = await listSigningKeys(db);
      // Readings may overtake each other. An older one is discarded, since it may lack the newest key.
      if (reading < applied) return;
      applied = reading;
      loaded = openKeys(deps, rows, loaded);
    },
    service: {
      name: 'signing-key-age',
      run: async (signal) => {
        while (!signal.aborted) {
          await pause(ageCheckMs, signal);
          // Checked in memory first, since the lock is needed only once in months.
          if (!signal.aborted && isOld(loaded.newest, settings.signing_key_days, clock.now())) {
            await rotateOldSigningKey(deps, settings.signing_key_days);
          }
        }
      },
    },
  };
};

/** Makes the first key, and records the token lifetime of this process with the existing keys. */
const settleKeys = async ({ box, clock, settings }: SigningKeysDeps, tx: Kysely<unknown>): Promise<void> => {
  await lockSigningKeys(tx);
  const tokenSecondsMax = settings.token_lifetime;
  if ((await listSigningKeys(tx)).length === 0) {
    const now = clock.now();
    await insertSigningKey(tx, await generateSigningKey(box, { notBefore: now, tokenSecondsMax }), now);
  } else if (await raiseTokenSeconds(tx, tokenSecondsMax)) {
    await raiseEpoch(tx, 'all');
  }
};

type OpenKey = SigningKey & VerifyingKey & { notBeforeMs: number; endsMs: number };

type Loaded = {
  rows: readonly SigningKeyRow[];
  newest: SigningKeyRow;
  byKid: ReadonlyMap<string, OpenKey>;
  jwks: (nowMs: number) => { keys: JWK[] };
  current: (nowMs: number) => SigningKey;
};

/** `before`: of the reading before. */
const openKeys = (
  deps: Pick<SigningKeysDeps, 'box'>,
  rows: readonly SigningKeyRow[],
  before: Loaded | undefined,
): Loaded => {
  // Documents made from a key set compare it by identity, so an unchanged set must stay the same object.
  if (before !== undefined && isSame(before.rows, rows)) return before;
  const [newest] = rows;
  if (newest === undefined) throw new Error('no signing key is left');
  const keys = rows.map((row, index) => {
    const ends = { signsUntilMs: signsUntil(rows, index), endsMs: endOf(rows, index) };
    return openKey(deps.box, row, ends, before?.byKid.get(row.kid));
  });
  let published: { kids: string; jwks: { keys: JWK[] } } | undefined;
  return {
    rows,
    newest,
    byKid: new Map(keys.map((key) => [key.kid, key])),
    jwks: (nowMs) => {
      const live = rows.filter((_row, index) => nowMs < endOf(rows, index));
      const kids = live.map(({ kid }) => kid).join(' ');
      if (published?.kids !== kids) {
        published = { kids, jwks: { keys: live.map(({ kid, publicJwk }) => publishedJwk(kid, publicJwk)) } };
      }
      return published.jwks;
    },
    current: (nowMs) => {
      const usable = keys.find(({ notBeforeMs }) => notBeforeMs <= nowMs) ?? keys.at(-1);
      if (usable === undefined) throw new Error('no signing key is left');
      return usable;
    },
  };
};

const isSame = (before: readonly SigningKeyRow[], rows: readonly SigningKeyRow[]): boolean =>
  before.length === rows.length &&
  rows.every(({ kid, tokenSecondsMax }, index) => {
    const other = before[index];
    return other?.kid === kid && other.tokenSecondsMax === tokenSecondsMax;
  });

/** `before`: the same key as opened earlier; it stays the same object while nothing about it changes. */
const openKey = (
  box: Pick<SecretBox, 'open'>,
  row: SigningKeyRow,
  ends: Pick<OpenKey, 'signsUntilMs' | 'endsMs'>,
  before: OpenKey | undefined,
): OpenKey => {
  if (before !== undefined) return Object.assign(before, ends);
  const key: unknown = JSON.parse(box.open(row.privateSealed, sealLabel(row.kid)));
  const privateKey = createPrivateKey({ key: key as JsonWebKey, format: 'jwk' });
  const publicKey = createPublicKey(privateKey);
  return { kid: row.kid, privateKey, publicKey, notBeforeMs: row.notBefore.getTime(), ...ends };
};

/** Public members by name, so that nothing else can ever get into the document. */
const publishedJwk = (kid: string, { crv, x, y }: JWK): JWK =>
  ({ kty: 'EC', crv, x, y, kid, use: 'sig', alg: 'ES256' }) as JWK;

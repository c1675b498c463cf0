/**
 * Adds a new key for access tokens. It is published some minutes before it signs, so that services that cache the published
 * set have it in time. The old key signs until then, and verifies until the last token that it signed has ended. After a leak
 * the new key may sign at once, and all earlier keys end with their tokens.
 */
import { generateKeyPairSync } from 'node:crypto';
import { calculateJwkThumbprint, type JWK } from 'jose';
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import { type Clock, dayMs, minuteMs } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { appendChange } from '../../audit/record/append-change.ts';
import { raiseEpoch } from '../../credentials/lookup/epoch-store.ts';
import {
  insertSigningKey,
  listSigningKeys,
  lockSigningKeys,
  retireSigningKeys,
  type SigningKeyRow,
} from './signing-key-store.ts';

export type RotateDeps = {
  db: Kysely<unknown>;
  box: Pick<SecretBox, 'seal' | 'derive'>;
  clock: Clock;
  /** Who requested the rotation; null when the age of the key did. */
  actor?: string;
};

export type RotatedKey = { kid: string; signsFrom: Date };

/** Published documents may be cached for five minutes (interface 4.3); twice that. */
const listedMsBefore = 10 * minuteMs;
/** A gateway may read the switch a second late, and its clock may be behind. */
const clocksMs = 60_000;

/** The new key signs at once. Earlier keys, one that is listed and does not sign yet included, end with all their tokens. */
export const replaceSigningKeys = (deps: RotateDeps): Promise<RotatedKey> =>
  inTransaction(deps.db, async (tx) => {
    await lockSigningKeys(tx);
    const rows = await listSigningKeys(tx);
    return addKey(deps, tx, { rows, ended: rows, listedMs: 0 });
  });

/** CONFLICT: a key is listed already that has not begun to sign. */
export const rotateSigningKey = (deps: RotateDeps): Promise<RotatedKey> =>
  inTransaction(deps.db, async (tx) => {
    await lockSigningKeys(tx);
    const rows = await listSigningKeys(tx);
    const [newest] = rows;
    if (newest !== undefined && newest.notBefore.getTime() > deps.clock.now().getTime()) {
      throw new Fault(
        'CONFLICT',
        `The key ${newest.kid} is listed and signs from ${newest.notBefore.toISOString()} on`,
      );
    }
    return addKey(deps, tx, { rows, ended: overOf(rows, deps.clock), listedMs: listedMsBefore });
  });

/** The same when the newest key is older than `daysMax`; undefined when it is not. Of several gateways that check, one rotates. */
export const rotateOldSigningKey = (deps: RotateDeps, daysMax: number): Promise<RotatedKey | undefined> =>
  inTransaction(deps.db, async (tx) => {
    await lockSigningKeys(tx);
    const rows = await listSigningKeys(tx);
    const [newest] = rows;
    if (newest === undefined || !isOld(newest, daysMax, deps.clock.now())) return undefined;
    return addKey(deps, tx, { rows, ended: overOf(rows, deps.clock), listedMs: listedMsBefore });
  });

export const isOld = ({ notBefore }: Pick<SigningKeyRow, 'notBefore'>, daysMax: number, now: Date): boolean =>
  now.getTime() - notBefore.getTime() > daysMax * dayMs;

/** Keys whose last token has ended. */
const overOf = (rows: readonly SigningKeyRow[], clock: Clock): SigningKeyRow[] =>
  rows.filter((_row, index) => endOf(rows, index) <= clock.now().getTime());

/** `rows`: the keys that count. `ended`: those of them that this one retires. `listedMs`: how long it is listed before it signs. */
const addKey = async (
  { box, clock, actor = 'system' }: RotateDeps,
  tx: Kysely<unknown>,
  { rows, ended, listedMs }: { rows: readonly SigningKeyRow[]; ended: readonly SigningKeyRow[]; listedMs: number },
): Promise<RotatedKey> => {
  const now = clock.now();
  await retireSigningKeys(
    tx,
    ended.map(({ kid }) => kid),
    now,
  );
  const key = await generateSigningKey(box, {
    notBefore: new Date(now.getTime() + listedMs),
    tokenSecondsMax: Math.max(0, ...rows.map(({ tokenSecondsMax }) => tokenSecondsMax)),
  });
  await insertSigningKey(tx, key, now);
  await appendChange(tx, box, now, { action: 'signing_key.rotated', credential_id: key.kid, actor });
  await raiseEpoch(tx, 'all');
  return { kid: key.kid, signsFrom: key.notBefore };
};

/** When a key has signed its last token, in ms; Infinity for the newest. `rows`: newest first. */
export const signsUntil = (rows: readonly Pick<SigningKeyRow, 'notBefore'>[], index: number): number => {
  const successor = rows[index - 1];
  return successor === undefined ? Number.POSITIVE_INFINITY : successor.notBefore.getTime() + clocksMs;
};

/** When the last token of a key has ended, in ms; Infinity for the newest. `rows`: newest first. */
export const endOf = (rows: readonly Pick<SigningKeyRow, 'notBefore' | 'tokenSecondsMax'>[], index: number): number =>
  signsUntil(rows, index) + (rows[index]?.tokenSecondsMax ?? 0) * 1000;

export const sealLabel = (kid: string): string => `signing-key/${kid}`;

export const generateSigningKey = async (
  box: Pick<SecretBox, 'seal'>,
  times: Pick<SigningKeyRow, 'notBefore' | 'tokenSecondsMax'>,
): Promise<SigningKeyRow> => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const publicJwk = publicKey.export({ format: 'jwk' }) as JWK;
  const kid = await calculateJwkThumbprint(publicJwk);
  const privateText = JSON.stringify(privateKey.export({ format: 'jwk' }));
  return { kid, publicJwk, privateSealed: box.seal(privateText, sealLabel(kid)), ...times };
};

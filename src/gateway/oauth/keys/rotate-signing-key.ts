/**
 * Adds a new key for access tokens. It is published some minutes before it signs, so that services that cache the published
 * set have it in time. The old key signs until then, and verifies until the last token that it signed has ended.
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

/** CONFLICT: a key is listed already that has not begun to sign. */
export const rotateSigningKey = (deps: RotateDeps): Promise<RotatedKey> =>
  inTransaction(deps.db, async (tx) => {
    await lockSigningKeys(tx);
    const [newest] = await listSigningKeys(tx);
    if (newest !== undefined && newest.notBefore.getTime() > deps.clock.now().getTime()) {
      throw new Fault(
        'CONFLICT',
        `The key ${newest.kid} is listed and signs from ${newest.notBefore.toISOString()} on`,
      );
    }
    return addKey(deps, tx);
  });

/** The same when the newest key is older than `daysMax`; undefined when it is not. Of several gateways that check, one rotates. */
export const rotateOldSigningKey = (deps: RotateDeps, daysMax: number): Promise<RotatedKey | undefined> =>
  inTransaction(deps.db, async (tx) => {
    await lockSigningKeys(tx);
    const [newest] = await listSigningKeys(tx);
    return newest !== undefined && isOld(newest, daysMax, deps.clock.now()) ? addKey(deps, tx) : undefined;
  });

export const isOld = ({ notBefore }: Pick<SigningKeyRow, 'notBefore'>, daysMax: number, now: Date): boolean =>
  now.getTime() - notBefore.getTime() > daysMax * dayMs;

const addKey = async ({ box, clock, actor = 'system' }: RotateDeps, tx: Kysely<unknown>): Promise<RotatedKey> => {
  const now = clock.now();
  const rows = await listSigningKeys(tx);
  const over = rows.filter((_row, index) => endOf(rows, index) <= now.getTime());
  await retireSigningKeys(
    tx,
    over.map(({ kid }) => kid),
    now,
  );
  const key = await generateSigningKey(box, {
    notBefore: new Date(now.getTime() + listedMsBefore),
    tokenSecondsMax: Math.max(0, ...rows.map(({ tokenSecondsMax }) => tokenSecondsMax)),
  });
  await insertSigningKey(tx, key, now);
  await appendChange(tx, box, now, { action: 'signing_key.rotated', credential_id: key.kid, actor });
  await raiseEpoch(tx, 'all');
  return { kid: key.kid, signsFrom: key.notBefore };
};

/** When the last token of a key has ended, in ms; Infinity for the newest. `rows`: newest first. */
export const endOf = (rows: readonly Pick<SigningKeyRow, 'notBefore' | 'tokenSecondsMax'>[], index: number): number => {
  const successor = rows[index - 1];
  const row = rows[index];
  if (successor === undefined || row === undefined) return Number.POSITIVE_INFINITY;
  return successor.notBefore.getTime() + row.tokenSecondsMax * 1000 + clocksMs;
};

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

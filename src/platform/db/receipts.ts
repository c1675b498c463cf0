/**
 * Receipts of idempotent requests (interface 8): one row per (owner, key), written in the transaction of the change
 * that it answers for, so that a crash between commit and answer still finds the answer on the next try.
 */

import { type Kysely, sql } from 'kysely';
import { statement } from './driver/statement.ts';

export type Receipt = {
  requestHash: Buffer;
  status: number;
  body: string;
  headers: Record<string, string>;
  expires: Date;
};

/** The request that the receipt answers; null: not stored. */
export type ReceiptRequest = { request: string | null; requestBody: Buffer | null };

/** True when this transaction holds the key now; false while another one does. The lock is released with the transaction. */
export const tryLockKey = async (tx: Kysely<unknown>, owner: string, key: string): Promise<boolean> => {
  // A collision of two keys in the 64-bit lock space makes one of them wait for a retry, never share a receipt.
  const { rows } = await statement<{ held: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(${`${owner} ${key}`}, 8)) as held`.execute(tx);
  return rows[0]?.held === true;
};

export const findReceipt = async (
  tx: Kysely<unknown>,
  owner: string,
  key: string,
  now: Date,
): Promise<Receipt | undefined> => {
  const { rows } = await statement<Receipt>`
    select request_hash as "requestHash", status, body, headers, expires
    from platform.receipts where owner = ${owner} and key = ${key} and expires > ${now}`.execute(tx);
  return rows[0];
};

/** May be large, so it is read only when another request has the same key. */
export const findReceiptRequest = async (
  tx: Kysely<unknown>,
  owner: string,
  key: string,
): Promise<ReceiptRequest | undefined> => {
  const { rows } = await sql<ReceiptRequest>`
    select request, request_body as "requestBody" from platform.receipts
    where owner = ${owner} and key = ${key}`.execute(tx);
  return rows[0];
};

/** Replaces an expired receipt of the same key. */
export const saveReceipt = async (
  tx: Kysely<unknown>,
  owner: string,
  key: string,
  receipt: Receipt & ReceiptRequest,
): Promise<void> => {
  await statement`
    insert into platform.receipts (owner, key, request_hash, request, request_body, status, body, headers, expires)
    values (${owner}, ${key}, ${receipt.requestHash}, ${receipt.request}, ${receipt.requestBody}, ${receipt.status},
      ${receipt.body}, ${JSON.stringify(receipt.headers)}::jsonb, ${receipt.expires})
    on conflict (owner, key) do update set request_hash = excluded.request_hash, request = excluded.request,
      request_body = excluded.request_body, status = excluded.status, body = excluded.body, headers = excluded.headers,
      expires = excluded.expires`.execute(tx);
};

export const deleteReceipt = async (db: Kysely<unknown>, owner: string, key: string): Promise<void> => {
  await sql`delete from platform.receipts where owner = ${owner} and key = ${key}`.execute(db);
};

/** Deletes at most `limit` expired receipts; returns how many were deleted. */
export const deleteExpiredReceipts = async (db: Kysely<unknown>, now: Date, limit: number): Promise<number> => {
  // The outer condition is checked again on a receipt that another transaction has replaced meanwhile.
  const result = await sql`
    delete from platform.receipts where expires <= ${now} and (owner, key) in
      (select owner, key from platform.receipts where expires <= ${now} order by expires limit ${limit})`.execute(db);
  return Number(result.numAffectedRows ?? 0n);
};

/**
 * One effect per Idempotency-Key (interface 8). The receipt is written in the transaction of the change: what the
 * caller was told and what happened commit together or not at all.
 */
import { createHash } from 'node:crypto';
import type { Kysely } from 'kysely';
import { sql } from 'kysely';
import { envelopeOf, Fault } from '#src/contract/fault.ts';
import { findReceipt, type Receipt, saveReceipt, tryLockKey } from '../db/receipts.ts';
import { withCommit } from '../db/transaction.ts';
import { canonicalJson, firstDifference } from './json.ts';
import { pointerOf } from './validate.ts';

export type WireAnswer = { status: number; body: string; headers: Record<string, string> };

export type IdempotentRequest = {
  /** Key or client that the Idempotency-Key belongs to. */
  owner: string;
  key: string;
  path: string;
  query: Readonly<Record<string, string>>;
  body: Readonly<Record<string, unknown>> | undefined;
  requestId: string;
};

const keptMs = 48 * 3600 * 1000;
const requestCharactersMax = 256 * 1024;

/** Undefined without the header. Throws VALIDATION_ERROR for a malformed or empty key: its sender counts on it. */
export const readIdempotencyKey = (value: string | readonly string[] | undefined): string | undefined => {
  if (value === undefined) return undefined;
  if (typeof value === 'string' && /^[\x21-\x7e]{1,255}$/.test(value)) return value;
  throw new Fault('VALIDATION_ERROR', '1 value is not valid', {
    errors: [{ pointer: 'Idempotency-Key', code: 'FORMAT', message: 'must be 1 to 255 visible ASCII characters' }],
  });
};

/**
 * Runs `handle` inside `tx` at most once per key. A refusal by the addressed entity, its state or the domain is
 * recorded too, after its own changes are undone; other faults leave the key free.
 */
export const runOnce = async (
  tx: Kysely<unknown>,
  request: IdempotentRequest,
  now: Date,
  handle: () => Promise<WireAnswer>,
): Promise<WireAnswer> => {
  // Sent together: what is found was read when the lock was held.
  const [isHeld, earlier] = await Promise.all([
    tryLockKey(tx, request.owner, request.key),
    findReceipt(tx, request.owner, request.key, now),
  ]);
  if (!isHeld) {
    throw new Fault('CONFLICT', 'A request with this Idempotency-Key is still running', {
      headers: { 'retry-after': '1' },
    });
  }
  const identity = { path: request.path, query: request.query, body: request.body ?? null };
  const text = canonicalJson(identity);
  const requestHash = createHash('sha256').update(text).digest();
  if (earlier !== undefined) {
    if (!earlier.requestHash.equals(requestHash)) throw reused(earlier, identity);
    return replay(earlier);
  }
  const answer = await handleOrRecordRefusal(tx, request.requestId, handle);
  const expires = new Date(now.getTime() + keptMs);
  const headers = { ...answer.headers, 'idempotency-expires': expires.toUTCString() };
  const receipt = {
    requestHash,
    request: text.length <= requestCharactersMax ? text : null,
    status: answer.status,
    body: answer.body,
    headers,
    expires,
  };
  await withCommit(tx, saveReceipt(tx, request.owner, request.key, receipt));
  return { ...answer, headers };
};

const replay = (receipt: Receipt): WireAnswer => ({
  status: receipt.status,
  body: receipt.body,
  headers: { ...receipt.headers, 'idempotent-replayed': 'true' },
});

const handleOrRecordRefusal = async (
  tx: Kysely<unknown>,
  requestId: string,
  handle: () => Promise<WireAnswer>,
): Promise<WireAnswer> => {
  await sql`savepoint before_change`.execute(tx);
  try {
    return await handle();
  } catch (error) {
    if (!(error instanceof Fault) || !isKept(error)) throw error;
    await sql`rollback to savepoint before_change`.execute(tx);
    return {
      status: error.status,
      body: JSON.stringify(envelopeOf(error, requestId)),
      headers: { ...error.headers },
    };
  }
};

/** Steps 15-17 of interface 6.2; a parameter fault found late still leaves the key free. */
const isKept = (fault: Fault): boolean =>
  fault.code === 'INVALID_TOKEN' || fault.status === 404 || fault.status === 409 || fault.status === 422;

const reused = (earlier: Receipt, identity: { path: string; query: unknown; body: unknown }): Fault => {
  const first: unknown = earlier.request === null ? undefined : JSON.parse(earlier.request);
  const path = first === undefined ? [] : (firstDifference(first, identity) ?? []);
  // path[0] says which part of the request differs; the pointer names the place inside it.
  const pointer = path[0] === 'path' || path.length < 2 ? '' : pointerOf(path.slice(1));
  const message =
    path[0] === 'path' ? 'the key was used with another operation' : 'differs from the first request with this key';
  return new Fault('IDEMPOTENCY_KEY_REUSED', 'This Idempotency-Key was used with another request', {
    errors: [{ pointer, code: 'IDEMPOTENCY_KEY_REUSED', message }],
  });
};
